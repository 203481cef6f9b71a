import { OptionError, rejectUnknown, requireObject, withPath } from '../options.js';

const HINT = 'Use { useFactory, inject }, { useClass } or { useExisting }.';

/** What modules that are made with `ConfigurableModuleBuilder` and `isGlobal` take there. */
const KNOWN = [
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'provideInjectionTokensFrom',
  'isGlobal',
] as const;

/**
 * Checks what a module's `forRootAsync()` is given: Nest itself would take no options for a mistyped `useFactory`.
 *
 * @param module Its name, for messages.
 * @throws TypeError naming what is wrong, and showing no value of it.
 */
export function requireAsyncOptions(options: object, module: string): void {
  withPath(module, () => {
    requireObject(options, '', HINT);
    rejectUnknown(options, KNOWN);
    const { useFactory, useClass, useExisting } = options as Readonly<Record<string, unknown>>;
    if (useFactory !== undefined || useClass !== undefined || useExisting !== undefined) return;

    throw new OptionError('', `forRootAsync() was given nothing that makes the options. ${HINT}`);
  });
}
