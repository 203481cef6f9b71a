import { AsyncResource } from 'node:async_hooks';
/**
 * The surroundings of a random execution: time, the wall clock, timers, and input that arrives by itself. Unlike the
 * clock of the scenarios it walks as an event loop does, one macrotask at a time with everything that follows from it,
 * lets the loop stand still, and keeps elapsed time and the wall clock apart: the engine is loaded inside of it (see
 * `engine.ts`), so that it takes both for the platform's own.
 */
/** A multiple of every stretch of time that a scenario speaks of, so that an execution is the same wherever it comes in a run. */
const ALIGNMENT_MS = 60_000;
const EPOCH_MS = 1_800_000_000_000;
/** Turns of the loop for one moment; more of them go round in circles. */
const MOST_TURNS = 2_000;
const real = {
    Date: globalThis.Date,
    performance: globalThis.performance,
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setImmediate: globalThis.setImmediate,
    AbortController: globalThis.AbortController,
};
export class World {
    constructor() {
        /** Elapsed milliseconds, that no step of the wall clock moves. */
        this.now = 0;
        /** Since the world was made. */
        this.timersStarted = 0;
        this.controllersMade = 0;
        /** What was written to `console.error`. */
        this.reports = [];
        /** Called after each turn of the loop, and, with `true`, when all that is due at a moment has happened. */
        this.onTurn = () => { };
        this.wallOffset = 0;
        this.queue = [];
        this.immediates = [];
        this.latestId = 0;
        this.printError = console.error;
        this.globals = this.makeGlobals();
    }
    /** Timers that wait. */
    get timers() {
        return this.queue.filter(({ delayMs }) => delayMs !== undefined).length;
    }
    /** Whether anything is still to come. */
    get isBusy() {
        return this.queue.length > 0 || this.immediates.length > 0;
    }
    /** One that does not count as made by the engine. */
    newController() {
        return new real.AbortController();
    }
    /** @param timersToo Whether timers are ours as well; loaders of modules need real ones. */
    install(timersToo = true) {
        const { Date: VirtualDate, performance, ...others } = this.globals;
        Object.assign(globalThis, { Date: VirtualDate }, timersToo ? others : {});
        Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true, writable: true });
        if (timersToo)
            console.error = (...given) => void this.reports.push(given);
    }
    uninstall() {
        const { performance, ...others } = real;
        Object.assign(globalThis, others);
        Object.defineProperty(globalThis, 'performance', { value: performance, configurable: true, writable: true });
        console.error = this.printError;
    }
    /** Begins another execution, at a moment like that of every other. */
    begin(draws) {
        this.install();
        this.draws = draws;
        this.now = (Math.floor(this.now / ALIGNMENT_MS) + 1) * ALIGNMENT_MS;
        this.wallOffset = 0;
        this.queue = [];
        this.immediates = [];
        this.reports.length = 0;
    }
    /** Sets the wall clock ahead by so much, or back. */
    stepWallClock(ms) {
        this.wallOffset += ms;
    }
    /** Calls back after so many milliseconds, as input does that arrives from outside. */
    arrive(ms, run) {
        this.enqueue(this.now + ms, undefined, run);
    }
    /** Lets time pass, with everything that is due in it. */
    async pass(ms) {
        const until = this.now + ms;
        for (;;) {
            await this.walk();
            const next = Math.min(...this.queue.map(({ at }) => at));
            if (next > until)
                break;
            this.now = Math.max(this.now, next);
        }
        this.now = until;
    }
    /** Holds the event loop: time passes, and what was due in it comes late. */
    async stall(ms) {
        await this.walk();
        this.now += ms;
        await this.walk();
    }
    /** Lets everything happen that is due now: timers, then input, then what waits for input to be handled. */
    async walk() {
        await this.turn(undefined);
        for (let turns = 0; this.hasWork(); turns++) {
            if (turns > MOST_TURNS)
                throw new Error('An execution goes round in circles.');
            const due = this.takeTimer() ?? this.takeInput() ?? this.immediates.shift();
            await this.turn(due);
        }
        this.onTurn(true);
    }
    async turn(due) {
        due?.context.runInAsyncScope(due.run);
        await new Promise((resolve) => void real.setImmediate(resolve));
        this.onTurn(false);
    }
    hasWork() {
        return this.immediates.length > 0 || this.queue.some(({ at }) => at <= this.now);
    }
    /** The runtime walks through timers by their delays: all of one delay that are due, beginning with the earliest. */
    takeTimer() {
        const due = this.queue.filter(({ at, delayMs }) => at <= this.now && delayMs !== undefined);
        const first = Math.min(...due.map(({ at }) => at));
        const inPlace = due.filter(({ at }) => at === first);
        const firstOfEach = inPlace.filter(({ delayMs }, index) => index === inPlace.findIndex((one) => one.delayMs === delayMs));
        // Input of the very moment may be there before the timer looks.
        const rivals = first === this.now ? this.queue.filter(({ at, delayMs }) => at === first && delayMs === undefined) : [];
        return this.take([...firstOfEach, ...rivals]);
    }
    takeInput() {
        const due = this.queue.filter(({ at }) => at <= this.now);
        const first = Math.min(...due.map(({ at }) => at));
        return this.take(due.filter(({ at }) => at === first));
    }
    take(candidates) {
        const taken = candidates.length > 1 ? this.draws?.pick(candidates) : candidates[0];
        if (taken !== undefined)
            this.queue.splice(this.queue.indexOf(taken), 1);
        return taken;
    }
    enqueue(at, delayMs, run) {
        const id = ++this.latestId;
        this.queue.push({ id, at, delayMs, run, context: new AsyncResource('Due') });
        return id;
    }
    makeGlobals() {
        // oxlint-disable-next-line typescript/no-this-alias
        const world = this;
        return {
            Date: class extends real.Date {
                static now() {
                    return EPOCH_MS + world.now + world.wallOffset;
                }
            },
            performance: { now: () => world.now },
            setTimeout: (callback, ms, given) => {
                world.timersStarted += 1;
                return world.enqueue(world.now + ms, ms, () => callback(given));
            },
            clearTimeout: (id) => {
                const index = id === undefined ? -1 : world.queue.findIndex((due) => due.id === id);
                if (index >= 0)
                    world.queue.splice(index, 1);
            },
            setImmediate: (run) => {
                world.immediates.push({ id: 0, at: 0, delayMs: undefined, run, context: new AsyncResource('Due') });
            },
            AbortController: class extends real.AbortController {
                constructor() {
                    super();
                    world.controllersMade += 1;
                }
            },
        };
    }
}
//# sourceMappingURL=world.js.map