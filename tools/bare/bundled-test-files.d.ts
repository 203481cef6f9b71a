/** Made by the bundler: every test file that needs no Node, by its path. */
declare module 'bundled-test-files' {
  export const files: Record<string, () => Promise<unknown>>;
}
