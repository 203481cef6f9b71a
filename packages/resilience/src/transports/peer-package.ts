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

  private async besideCore(): Promise<T | undefined> {
    const path = resolveBesideCore(this.name);

    return path === undefined ? undefined : ((await import(/* @vite-ignore */ pathToFileURL(path).href)) as T);
  }
}

/** A bundle has copies of its own; what lies beside it on the disk is not what it uses. */
function resolveBesideCore(name: string): string | undefined {
  try {
    const here = createRequire(import.meta.url);
    const home = new URL('.', pathToFileURL(here.resolve('@nestjs/resilience/package.json')));
    if (!import.meta.url.startsWith(home.href)) return undefined;

    return createRequire(here.resolve('@nestjs/core')).resolve(name);
  } catch {
    return undefined;
  }
}
