/**
 * What the engine's tests get for `vitest` where there is no Node: the same runner, matchers and spies, and a fake
 * clock on the timers of that context.
 */
import { type Clock, type FakeMethod, withGlobal } from '@sinonjs/fake-timers';
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  type ExpectStatic,
  getState,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect';
import { getCurrentTest } from '@vitest/runner';
import { clearAllMocks, fn, isMockFunction, resetAllMocks, restoreAllMocks, spyOn } from '@vitest/spy';

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  onTestFailed,
  onTestFinished,
  suite,
  test,
} from '@vitest/runner';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

const scope = globalThis as typeof globalThis & Record<symbol, unknown>;

function makeExpect(): ExpectStatic {
  const check = (value: unknown, message?: string) => {
    const { assertionCalls } = getState(expect);
    setState({ assertionCalls: assertionCalls + 1 }, expect);
    const assertion = chai.expect(value, message) as unknown as { withTest(test: unknown): unknown };
    const current = getCurrentTest();
    return current === undefined ? assertion : assertion.withTest(current);
  };
  const made = Object.assign(check, chai.expect, scope[ASYMMETRIC_MATCHERS_OBJECT]) as unknown as ExpectStatic;
  made.getState = () => getState(made);
  made.setState = (state) => setState(state, made);
  made.unreachable = (message) => chai.assert.fail(message ?? 'expected not to be reached');
  made.soft = made;
  made.extend = (matchers) =>
    (chai.expect as unknown as { extend(owner: unknown, matchers: unknown): void }).extend(made, matchers);
  setState({ assertionCalls: 0 }, made);
  return made;
}

export const expect: ExpectStatic = makeExpect();
scope[GLOBAL_EXPECT] = expect;
expect.extend(customMatchers);

const timers = withGlobal(globalThis);
const stubs = new Map<string, PropertyDescriptor | undefined>();
let clock: Clock | undefined;

function installed(): Clock {
  if (clock === undefined) throw new Error('the timers are not faked: call vi.useFakeTimers() first');

  return clock;
}

export const vi = {
  fn,
  spyOn,
  isMockFunction,
  mocked: <T>(value: T): T => value,

  useFakeTimers(config: { toFake?: FakeMethod[]; now?: number | Date } = {}) {
    clock?.uninstall();
    clock = timers.install({ now: Date.now(), ...config, ignoreMissingTimers: true });
    return vi;
  },
  useRealTimers() {
    clock?.uninstall();
    clock = undefined;
    return vi;
  },
  isFakeTimers: () => clock !== undefined,
  setSystemTime(now: number | Date) {
    installed().setSystemTime(now);
    return vi;
  },
  advanceTimersByTime(ms: number) {
    installed().tick(ms);
    return vi;
  },
  async advanceTimersByTimeAsync(ms: number) {
    await installed().tickAsync(ms);
    return vi;
  },
  advanceTimersToNextTimer() {
    installed().next();
    return vi;
  },
  async advanceTimersToNextTimerAsync() {
    await installed().nextAsync();
    return vi;
  },
  runAllTimers() {
    installed().runAll();
    return vi;
  },
  async runAllTimersAsync() {
    await installed().runAllAsync();
    return vi;
  },
  runOnlyPendingTimers() {
    installed().runToLast();
    return vi;
  },
  async runOnlyPendingTimersAsync() {
    await installed().runToLastAsync();
    return vi;
  },
  clearAllTimers() {
    installed().reset();
    return vi;
  },
  getTimerCount: () => installed().countTimers(),

  clearAllMocks() {
    clearAllMocks();
    return vi;
  },
  resetAllMocks() {
    resetAllMocks();
    return vi;
  },
  restoreAllMocks() {
    restoreAllMocks();
    return vi;
  },

  stubGlobal(name: string, value: unknown) {
    if (!stubs.has(name)) stubs.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true });
    return vi;
  },
  unstubAllGlobals() {
    for (const [name, original] of stubs) {
      if (original === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, original);
    }
    stubs.clear();
    return vi;
  },
};

export const vitest = vi;

/** Types are checked by the compiler; here such an expectation only has to be callable, however it goes on. */
export const expectTypeOf = (): unknown => anything;
export const assertType = (): void => {};
const anything: unknown = new Proxy(() => anything, { get: () => anything });
