import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { pathTo } from './readme.mjs';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * Copies packages into the `node_modules` of a folder, with all that they cannot do without: as an installation would,
 * but from what this repository has installed. Of its own packages, that is what was built.
 */
export async function install(folder: string, names: readonly string[]): Promise<void> {
  const wanted = new Set(names);
  for (const name of wanted) {
    const source = pathTo(`node_modules/${name}`);
    // What only a package inside of another one needs has come with that.
    if (!existsSync(source)) continue;

    for (const needed of needsOf(source)) wanted.add(needed);
    await copyPackage(source, join(folder, 'node_modules', name));
  }
}

/** Copies one package, without those that it needs. */
export async function copyPackage(source: string, target: string): Promise<void> {
  const home = realpathSync(source);
  const isOurs = dirname(home) === pathTo('packages');
  await cp(home, target, {
    recursive: true,
    filter: (path) => !/\.(d\.[cm]?ts|map)$/.test(path) && (!isOurs || isPublished(path.slice(home.length + 1))),
  });
}

function isPublished(path: string): boolean {
  return ['', 'package.json', 'dist'].includes(path) || path.startsWith(`dist${sep}`);
}

function needsOf(source: string): string[] {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as Manifest;
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);

  return [...Object.keys(dependencies), ...peers];
}
