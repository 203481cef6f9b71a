// Writes the public API of every package entry to a text file, or compares it with the committed one (`--check`);
// packages may be named, otherwise it is all of them.
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readOptions, readOrExit } from './command-line/command-line.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = ['packages/holdfast', 'packages/resilience', 'packages/idempotency'];
const { checkOnly, packages } = readOrExit(readCommandLine);

function readCommandLine() {
  const { values, positionals } = readOptions({
    options: { check: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const unknown = positionals.find((named) => !PACKAGES.includes(named));
  if (unknown !== undefined) throw new TypeError(`${unknown}: expected some of ${PACKAGES.join(', ')}.`);

  return { checkOnly: values.check, packages: positionals.length > 0 ? positionals : PACKAGES };
}

/**
 * @typedef {object} Entry
 * @property {string} folder The package's folder.
 * @property {string} report The report's name, without an ending.
 * @property {'public' | 'complete'} variant Whether `@internal` members are left out; a binding lives on them.
 * @property {string} types The declaration file that the entry's users see.
 */

/**
 * Every entry of a package's `exports` that has types.
 * @param {string} folder
 * @returns {Entry[]}
 */
function entriesOf(folder) {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const name = basename(folder);

  return Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath, target]) => ({
      folder,
      variant: subpath === './binding' ? 'complete' : 'public',
      report: subpath === '.' ? name : `${name}-${subpath.slice(2).replaceAll('/', '-')}`,
      types: target.types,
    }));
}

/** @param {Entry} entry */
const fileOf = ({ report, variant }) => `${report}${variant === 'public' ? '.public' : ''}.api.md`;

/**
 * @param {Entry} entry
 * @param {boolean} checkOnly
 * @returns {boolean} Whether the committed report says what the declarations say.
 */
function report({ folder, report: name, variant, types }, checkOnly) {
  const packageFolder = join(root, folder);
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: packageFolder,
      mainEntryPointFilePath: join(packageFolder, types),
      compiler: { overrideTsconfig: compilerOptions(folder) },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportVariants: [variant],
        includeForgottenExports: true,
        reportFolder: join(packageFolder, 'api'),
        reportTempFolder: join(root, '.cache/api'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      newlineKind: 'lf',
      messages: { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(packageFolder, 'package.json'),
  });
  const result = Extractor.invoke(config, { localBuild: !checkOnly, messageCallback: quiet });

  return checkOnly ? !result.apiReportChanged && result.errorCount === 0 : true;
}

const silent = { default: { logLevel: ExtractorLogLevel.None } };

/**
 * The engine's declarations name nothing of Node; those of bindings may, such as `Buffer`.
 * @param {string} folder
 */
const compilerOptions = (folder) => ({
  compilerOptions: {
    target: 'es2022',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    lib: ['es2023', 'webworker'],
    types: basename(folder) === 'holdfast' ? [] : ['node'],
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
  },
});

/** @param {import('@microsoft/api-extractor').ExtractorMessage} message */
function quiet(message) {
  if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
}

/**
 * Reports whose entry is gone.
 * @param {string} folder
 * @param {Entry[]} entries
 * @returns {string[]}
 */
function strays(folder, entries) {
  const api = join(root, folder, 'api');
  if (!existsSync(api)) return [];

  const expected = new Set(entries.map(fileOf));
  return readdirSync(api)
    .filter((file) => !expected.has(file))
    .map((file) => join(api, file));
}

let failed = false;
for (const folder of packages) {
  mkdirSync(join(root, folder, 'api'), { recursive: true });
  mkdirSync(join(root, '.cache/api'), { recursive: true });
  const entries = entriesOf(folder);
  for (const entry of entries) {
    if (report(entry, checkOnly)) continue;
    failed = true;
    console.error(`${folder}/api/${fileOf(entry)} is not what the package exports now: run \`npm run api\``);
  }
  for (const stray of strays(folder, entries)) {
    if (checkOnly) {
      failed = true;
      console.error(`${stray} reports no entry of the package: run \`npm run api\``);
    } else {
      rmSync(stray);
    }
  }
}

process.exitCode = failed ? 1 : 0;
