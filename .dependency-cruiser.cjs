/**
 * The rings: engine <- binding <- examples. A package is entered by its exports only.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const TESTS = '\\.(test|model)\\.ts$|/(test|e2e)/';
const ENTRIES =
  '^packages/holdfast/src/(index|binding|nest/index|fetch/index|testing/index)\\.ts$|^packages/resilience/src/index\\.ts$|' +
  '^packages/idempotency/src/(index|stores/(postgres|redis)/index|testing/index)\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment:
        'A cycle hides which of two files is the lower one. Types alone may meet: they leave nothing at run time.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'engine-imports-nothing',
      comment: 'The engine runs on every runtime: no packages, no platform modules.',
      severity: 'error',
      from: { path: '^packages/holdfast/src/', pathNot: [TESTS, '/host\\.node\\.ts$', '/src/nest/'] },
      to: { pathNot: '^packages/holdfast/src/(?!nest/)' },
    },
    {
      name: 'host-imports-node-only',
      severity: 'error',
      from: { path: '^packages/holdfast/src/host\\.node\\.ts$' },
      to: { pathNot: '^packages/holdfast/src/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'shared-by-bindings-without-nest',
      comment: 'It lies in the package of the engine, which has no dependencies: of Nest it knows types only.',
      severity: 'error',
      from: { path: '^packages/holdfast/src/nest/', pathNot: TESTS },
      to: { pathNot: '^packages/holdfast/src/', dependencyTypesNot: ['core', 'type-only'] },
    },
    {
      name: 'host-only-through-its-alias',
      comment: 'Which host runs is for package.json to choose.',
      severity: 'error',
      from: { path: '^packages/holdfast/', pathNot: [TESTS, '/host\\.node\\.ts$'] },
      to: { path: '/host\\.node\\.ts$', dependencyTypesNot: ['aliased-subpath-import'] },
    },
    {
      name: 'engine-knows-no-binding',
      severity: 'error',
      from: { path: '^packages/holdfast/', pathNot: '/src/nest/' },
      to: { path: '^(packages/(?!holdfast/)|examples/|bench/)|node_modules/(@nestjs|rxjs|reflect-metadata)/' },
    },
    {
      name: 'idempotency-knows-no-resilience',
      comment: 'Either is of use without the other; what both need is the engine.',
      severity: 'error',
      from: { path: '^packages/idempotency/src/', pathNot: TESTS },
      to: { path: '^packages/resilience/' },
    },
    {
      name: 'resilience-knows-no-idempotency',
      severity: 'error',
      from: { path: '^packages/resilience/' },
      to: { path: '^packages/idempotency/' },
    },
    {
      name: 'packages-know-no-examples',
      comment: 'Nor tools, but for tests that ask which servers are there.',
      severity: 'error',
      from: { path: '^packages/', pathNot: TESTS },
      to: { path: '^(examples|bench|docs|tools)/' },
    },
    {
      name: 'tests-of-packages-know-no-examples',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(examples|bench|docs|tools)/', pathNot: '^tools/services/' },
    },
    {
      name: 'no-inner-files-of-other-packages',
      comment: 'Another package is what its exports say.',
      severity: 'error',
      from: { path: '^((packages|examples)/[^/]+|bench|docs|tools)/' },
      to: { path: '^((packages|examples)/[^/]+|bench)/', pathNot: ['^$1/', ENTRIES] },
    },
    {
      name: 'other-packages-by-name',
      severity: 'error',
      // What no package.json lists looks local here, by whatever name; the tools that use packages are in no workspace.
      from: { path: '^((packages|examples)/[^/]+|bench|tools)/', pathNot: '^tools/(docs|bundled|copies)/' },
      to: { path: '^((packages|examples)/[^/]+|bench)/', pathNot: '^$1/', dependencyTypes: ['local'] },
    },
    {
      name: 'no-tests-in-sources',
      severity: 'error',
      from: { pathNot: TESTS },
      to: { path: TESTS },
    },
    {
      name: 'no-dev-dependencies-in-packages',
      comment: 'What a published package imports, its users must have.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: [TESTS, '^packages/holdfast/src/nest/'] },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['npm-peer', 'npm-optional'],
      },
    },
    {
      name: 'optional-peers-not-at-import',
      comment: 'An application without that transport must still load the package.',
      severity: 'error',
      from: { path: '^packages/(resilience|idempotency)/src/', pathNot: TESTS },
      to: {
        path: 'node_modules/(@nestjs/(microservices|websockets|graphql)|graphql|pg|ioredis|redis)/',
        dependencyTypesNot: ['type-only'],
        dynamic: false,
      },
    },
    {
      name: 'named-for-what-it-holds',
      severity: 'error',
      from: {},
      to: { path: '^(packages|examples|bench|tools)/.*/(utils?|helpers?|common|types|constants)\\.[cm]?[jt]s$' },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/dist/'] },
    exclude: { path: ['/dist/', '^tools/nodes/'] },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      conditionNames: ['@holdfast/source', 'node', 'import', 'types', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.json'],
      mainFields: ['types', 'main'],
    },
  },
};
