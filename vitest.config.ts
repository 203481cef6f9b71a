import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Tests read sources, never `dist`; `node` keeps the engine's #host on its Node side.
// Not `import`: the workers hand these to Node, where they would apply to `require()` as well.
const conditions = ['@holdfast/source', 'node', 'development|production'];

const project = (name: string, folder: string, include: string[]): TestProjectInlineConfiguration => ({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  oxc: { decorator: { legacy: true, emitDecoratorMetadata: true } },
  test: {
    name,
    root: at(folder),
    include,
    pool: 'forks',
    execArgv: ['--unhandled-rejections=strict', '--expose-gc'],
    setupFiles: [at('tools/vitest/fail-on-output.ts')],
    restoreMocks: true,
  },
});

/** For end-to-end suites that start compiled files: `build` brings them up to date. */
const compiled = (base: TestProjectInlineConfiguration, build: string): TestProjectInlineConfiguration => ({
  ...base,
  test: { ...base.test, globalSetup: [at(build)] },
});

const BUILD_PROOF = 'packages/idempotency/proof/build-proof.ts';
const BUILD_SHOP = 'examples/shop/e2e/build-shop.ts';
const BUILD_HOME = 'examples/home-bff/e2e/build-home.ts';
const BUILD_PAGE = 'examples/product-page/e2e/build-page.ts';
const BUILD_CLIENT = 'examples/adaptive-client/e2e/build-client.ts';
const BUILD_GATEWAY = 'examples/edge-gateway/e2e/build-gateway.ts';
const BUILD_BENCH = 'bench/e2e/build-bench.ts';
const TESTS_OF_EXAMPLES = ['src/**/*.test.ts', 'test/**/*.test.ts', 'e2e/**/*.test.ts'];

/** Runs when all of a lower order have ended, and those without one: for a suite whose subject is real time. */
const alone = (base: TestProjectInlineConfiguration, groupOrder: number): TestProjectInlineConfiguration => ({
  ...base,
  test: { ...base.test, sequence: { groupOrder } },
});

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('engine', 'packages/holdfast', ['src/**/*.test.ts']),
      project('resilience', 'packages/resilience', ['src/**/*.test.ts']),
      project('resilience-e2e', 'packages/resilience', ['e2e/!(outages)/**/*.test.ts', 'e2e/*.test.ts']),
      alone(project('resilience-outages', 'packages/resilience', ['e2e/outages/**/*.test.ts']), 4),
      project('idempotency', 'packages/idempotency', ['src/**/*.test.ts']),
      project('idempotency-e2e', 'packages/idempotency', ['e2e/**/*.test.ts']),
      alone(compiled(project('idempotency-proof', 'packages/idempotency', ['proof/**/*.test.ts']), BUILD_PROOF), 5),
      compiled(
        project('shop', 'examples/shop', ['src/**/*.test.ts', 'test/**/*.test.ts', 'e2e/start.test.ts']),
        BUILD_SHOP,
      ),
      alone(compiled(project('shop-walkthrough', 'examples/shop', ['e2e/walkthrough.test.ts']), BUILD_SHOP), 1),
      alone(compiled(project('product-page', 'examples/product-page', TESTS_OF_EXAMPLES), BUILD_PAGE), 3),
      compiled(project('home-bff', 'examples/home-bff', TESTS_OF_EXAMPLES), BUILD_HOME),
      compiled(project('edge-gateway', 'examples/edge-gateway', TESTS_OF_EXAMPLES), BUILD_GATEWAY),
      alone(compiled(project('adaptive-client', 'examples/adaptive-client', TESTS_OF_EXAMPLES), BUILD_CLIENT), 2),
      project('bench', 'bench', ['src/**/*.test.ts']),
      alone(compiled(project('bench-load', 'bench', ['e2e/**/*.test.ts']), BUILD_BENCH), 6),
      project('conformance', 'conformance', ['src/**/*.test.ts']),
      project('docs', 'docs', ['snippets/**/*.test.ts']),
      project('tools', 'tools', ['**/*.test.ts']),
    ],
  },
});
