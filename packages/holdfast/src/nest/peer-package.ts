import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A binding, as one of its own modules describes it under the name `binding`. */
export interface Binding {
  /** Its package. */
  readonly name: string;
  /** `import.meta.url` of that module. */
  readonly url: string;
}

export interface PeerPackageOptions<T> {
  readonly name: string;
  /** Who asks for it. */
  readonly binding: Binding;
  /** Loads it from where bundlers put it: they see only what is written out as `import()`. */
  readonly bundled: () => Promise<T | undefined>;
}

/**
 * A package that an application need not have, in the copy that Nest itself uses. Nest tells its errors by `instanceof`,
 * so with several copies on disk the right one is that which `@nestjs/core` finds.
 */
export class PeerPackage<T> {
  private loaded: T | undefined = undefined;

  constructor(private readonly options: PeerPackageOptions<T>) {}

  /** `undefined` before it was loaded, and where it is not installed. */
  get module(): T | undefined {
    return this.loaded;
  }

  async load(): Promise<void> {
    this.loaded ??= (await this.besideCore()) ?? (await this.options.bundled());
  }

  /** A bundle has copies of its own; what lies beside it on the disk is not what it uses. */
  private async besideCore(): Promise<T | undefined> {
    const { name, binding } = this.options;
    try {
      const here = createRequire(binding.url);
      if (!(await runsAsInstalled(binding, here))) return undefined;

      const path = createRequire(here.resolve('@nestjs/core')).resolve(name);
      return (await importFile(pathToFileURL(path))) as T;
    } catch {
      return undefined;
    }
  }
}

/**
 * Whether the binding runs from the file that was installed. The name of that file is no proof, since webpack and its kin
 * write it into their bundles; but loaded from there, it has to be this very module.
 */
async function runsAsInstalled(binding: Binding, here: NodeJS.Require): Promise<boolean> {
  const home = new URL('.', pathToFileURL(here.resolve(`${binding.name}/package.json`)));
  // Not a bundle: one whose top level awaits the application would wait for itself.
  if (!binding.url.startsWith(home.href)) return false;

  const installed = (await importFile(new URL(binding.url))) as { readonly binding?: unknown };
  return installed.binding === binding;
}

/** Bundlers have to leave it to the runtime. */
function importFile(url: URL): Promise<unknown> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ url.href);
}
