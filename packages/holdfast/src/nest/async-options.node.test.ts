import { describe, expect, it } from 'vitest';
import { requireAsyncOptions } from './async-options.js';

const useFactory = (): object => ({});
class Factory {}

describe('what forRootAsync() of a module is given', () => {
  it.each([
    [{ useFactory, inject: [], imports: [], isGlobal: false, provideInjectionTokensFrom: [] }],
    [{ useClass: Factory }],
    [{ useExisting: Factory }],
  ])('may say in any of three ways where the options come from: %o', (options) => {
    expect(() => requireAsyncOptions(options, 'SomeModule')).not.toThrow();
  });

  it.each([
    [undefined, /^SomeModule: expected an options object, got undefined\. Use \{ useFactory, inject \}/],
    ['correct horse', /^SomeModule: expected an options object, got a string\./],
    [{}, /^SomeModule: forRootAsync\(\) was given nothing that makes the options\. Use \{ useFactory, inject \}/],
    [{ isGlobal: true }, /^SomeModule: forRootAsync\(\) was given nothing/],
    [{ useFactori: useFactory }, /^SomeModule\.useFactori: unknown option\. Did you mean "useFactory"\?$/],
    [{ useFactory, encryptionKey: 'correct horse' }, /^SomeModule\.encryptionKey: unknown option\. Known options: imp/],
    [
      new (class {
        get useFactory() {
          return useFactory;
        }
      })(),
      /^SomeModule\.useFactory: is inherited/,
    ],
  ])('is refused with the name of the module, and nothing of it is shown: %o', (options, message) => {
    expect(() => requireAsyncOptions(options as never, 'SomeModule')).toThrow(message);
    expect(() => requireAsyncOptions(options as never, 'SomeModule')).not.toThrow(/horse/);
  });
});
