import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/**
 * A package that an application need not have, in the copy that Nest itself uses. Nest tells its errors by `instanceof`,
 * so with several copies on disk the right one is that which `@nestjs/core` finds.
 *
 * @param bundled Loads it from where bundlers put it: they see only what is written out as `import()`.
 */
export class PeerPackage<T> {
  private loaded: T | undefined = undefined;

  constructor(
    private readonly name: string,
    private readonly bundled: () => Promise<T | undefined>,
  ) {}

  /** `undefined` before it was loaded, and where it is not installed. */
  get module(): T | undefined {
    return this.loaded;
  }

  async load(): Promise<void> {
    this.loaded ??= (await this.besideCore()) ?? (await this.bundled());
  }

  /** A bundle has copies of its own; what lies beside it on the disk is not what it uses. */
  private async besideCore(): Promise<T | undefined> {
    try {
      const here = createRequire(import.meta.url);
      if (!(await runsAsInstalled(here))) return undefined;

      const path = createRequire(here.resolve('@nestjs/core')).resolve(this.name);
      return (await importFile(pathToFileURL(path))) as T;
    } catch {
      return undefined;
    }
  }
}

/**
 * Whether this code runs from the file that was installed. The name of that file is no proof, since webpack and its kin
 * write it into their bundles; but loaded from there, it has to be this very module.
 */
async function runsAsInstalled(here: NodeJS.Require): Promise<boolean> {
  const home = new URL('.', pathToFileURL(here.resolve('@nestjs/resilience/package.json')));
  // Not a bundle: one whose top level awaits the application would wait for itself.
  if (!import.meta.url.startsWith(home.href)) return false;

  const installed = (await importFile(new URL(import.meta.url))) as { readonly PeerPackage?: unknown };
  return installed.PeerPackage === PeerPackage;
}

/** Bundlers shall leave it to the runtime. */
function importFile(url: URL): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ url.href);
}
