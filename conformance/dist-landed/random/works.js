import { AttemptRecord } from './run.js';
import { limitIn, show } from './watch.js';
/** A timer that is later than that tells of the event loop, not of the work. */
const STALL_MS = 50;
const HANDLER_MS = 6;
/** Does what work does in a scenario, and looks at what attempts are given. */
export class Works {
    constructor(watch, layers, starter) {
        this.watch = watch;
        this.layers = layers;
        this.starter = starter;
        /** Those whose signals are to be looked at. */
        this.attempts = [];
        this.hanging = [];
        this.waiting = [];
        this.signals = new Set();
        /** The handler of a fallback is called. */
        this.handler = (model, { answers }, { error, context }) => {
            const run = model.onHandler(error);
            if (run === undefined)
                return 'nobody';
            const attempt = this.record(run, context);
            this.watch.inCallback();
            if (answers === 'throws')
                throw this.ended(attempt, new Error('no fallback'));
            if (answers === 'value')
                return this.ended(attempt, 'fallback');
            return new Promise((resolve) => {
                this.after(answers === 'slowly' ? HANDLER_MS : 0, true, () => resolve(this.ended(attempt, 'fallback')));
            });
        };
    }
    /** The work of an attempt is called. */
    attempt(run, context) {
        const { watch } = this;
        const isIts = run !== undefined && run === this.layers.arriving && !run.isOver;
        watch.require(isIts, 'nothing-for-nobody', 'work begins for nobody');
        if (run === undefined || !isIts)
            return undefined;
        this.layers.arriving = undefined;
        watch.require(!run.isOutOfTime(), 'nothing-for-nobody', 'work begins with no time left');
        return this.record(run, context);
    }
    perform(work, attempt) {
        this.watch.inCallback();
        if (work.asks === 'at once' || work.does === 'honour')
            this.askSignal(attempt);
        const { does, after } = work;
        if (does === 'answer')
            return this.ended(attempt, 'answer');
        if (does === 'throw')
            throw this.ended(attempt, errorOf(work));
        if (does === 'hang')
            return this.hang(attempt);
        if (does === 'honour')
            return this.honour(attempt);
        if (does === 'start')
            return this.start(work, attempt);
        return new Promise((resolve, reject) => {
            const end = () => {
                this.onEnd(attempt, work);
                if (does === 'resolve')
                    resolve('value');
                else
                    reject(errorOf(work));
            };
            this.after(after, work.byTimer, end);
        });
    }
    /** After each turn: signals are what their attempts are. */
    check() {
        for (const { signal, state, reason } of this.attempts) {
            if (signal === undefined)
                continue;
            if (state === 'cut') {
                const isTold = signal.aborted && signal.reason === reason;
                this.watch.require(isTold, 'cut-attempts-are-told', `the signal of an attempt cut by ${show(reason)} ${signal.aborted ? `has ${show(signal.reason)}` : 'has not aborted'}`);
            }
            else {
                this.watch.require(!signal.aborted, 'quiet-after-success', `the signal of an attempt that is ${state} has aborted`);
            }
        }
    }
    get areHanging() {
        return this.hanging.length > 0;
    }
    /** Lets all work that hangs end; `also` that which waits for calls of its own, such as for a slot that it holds itself. */
    endAll(also) {
        for (const end of this.hanging.splice(0))
            end();
        if (also === 'what waits')
            for (const end of this.waiting.splice(0))
                end();
    }
    record(run, context) {
        const { watch } = this;
        const attempt = new AttemptRecord(run, context);
        const leftMs = context.deadline?.remaining();
        const expectedMs = run.deadline && Math.max(0, run.deadline.expiresAt - watch.now);
        const knows = context.attempt === run.attemptNumber && leftMs === expectedMs;
        watch.require(knows, 'attempt-knows-its-place', `attempt ${context.attempt} with ${String(leftMs)} ms left, expected ${run.attemptNumber} with ${String(expectedMs)}`);
        watch.require(run.attempt === undefined, 'nothing-for-nobody', 'two attempts of one call run at once');
        run.attempt = attempt;
        this.attempts.push(attempt);
        return attempt;
    }
    askSignal(attempt) {
        const { signal } = attempt.context;
        const isOwn = attempt.signal === undefined ? !this.signals.has(signal) : attempt.signal === signal;
        const isForeign = signal === attempt.run.owner.caller?.controller.signal;
        this.watch.require(isOwn && !isForeign, 'own-signal', 'an attempt is given the signal of somebody else');
        this.signals.add(signal);
        attempt.signal = signal;
        return signal;
    }
    ended(attempt, value) {
        attempt.works = false;
        if (attempt.state === 'cut')
            this.watch.reach('late outcome dropped');
        return value;
    }
    onEnd(attempt, work) {
        if (work.asks === 'late')
            this.askSignal(attempt);
        const { state, reason } = attempt;
        const late = state === 'cut' && limitIn(reason) !== undefined ? this.watch.lateness.get(Object(reason)) : undefined;
        const isUnfair = late !== undefined && late > STALL_MS && !work.byTimer && attempt.cutAt === this.watch.now;
        this.watch.require(!isUnfair, 'stall-is-nobodys-fault', `a limit ${late} ms late came before input that was there`);
        this.ended(attempt, undefined);
    }
    hang(attempt) {
        return new Promise((_, reject) => {
            // Long after whoever asked has gone: nobody may hear of it.
            this.hanging.push(() => reject(this.ended(attempt, new Error('far too late'))));
        });
    }
    honour(attempt) {
        const signal = this.askSignal(attempt);
        return new Promise((resolve, reject) => {
            const leave = () => {
                // The engine hears of it one microtask later as well.
                queueMicrotask(() => this.ended(attempt, undefined));
                reject(signal.reason);
            };
            signal.addEventListener('abort', leave, { once: true });
            this.hanging.push(() => {
                signal.removeEventListener('abort', leave);
                if (attempt.works)
                    resolve(this.ended(attempt, 'value'));
            });
        });
    }
    start({ starts, waits, after, byTimer }, attempt) {
        const begun = new Promise((resolve, reject) => {
            const begin = () => {
                const promise = this.starter(starts, attempt);
                if (waits === true)
                    promise.then(resolve, reject);
                else
                    resolve('started');
            };
            this.waiting.push(() => reject(new Error('waits no longer')));
            if (after === 0)
                begin();
            else
                this.after(after, byTimer, begin);
        });
        return begun.then((value) => this.ended(attempt, value), (error) => {
            throw this.ended(attempt, error);
        });
    }
    after(ms, byTimer, then) {
        if (ms === 0)
            queueMicrotask(then);
        else if (byTimer)
            setTimeout(then, ms);
        else
            this.watch.world.arrive(ms, then);
    }
}
function errorOf({ error }) {
    if (error === 'not found')
        return Object.assign(new Error(error), { status: 404 });
    if (error === 'retry after')
        return Object.assign(new Error(error), { retryAfterMs: 15 });
    return new Error(error);
}
//# sourceMappingURL=works.js.map