import { AsyncResource } from 'node:async_hooks';
import { install } from '@sinonjs/fake-timers';
/** How many turns of the event loop promises get before they count as settled. */
const TURNS = 20;
export class InstalledClock {
    constructor() {
        /** How often something was asked of it. */
        this.moves = 0;
        this.clock = install({
            now: Date.now(),
            toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance', 'hrtime'],
            ignoreMissingTimers: true,
        });
        this.startedAt = this.clock.now;
        keepContexts();
    }
    get now() {
        return this.clock.now - this.startedAt;
    }
    get timers() {
        return this.clock.countTimers();
    }
    async tick(ms) {
        await this.settle();
        await this.clock.tickAsync(ms);
        await this.settle();
    }
    step(ms) {
        this.startedAt += ms;
        this.clock.setSystemTime(this.clock.now + ms);
    }
    async settle() {
        this.moves += 1;
        for (let turn = 0; turn < TURNS; turn += 1)
            await new Promise((resolve) => setImmediate(resolve));
    }
    uninstall() {
        this.clock.uninstall();
    }
}
/** As the platform's own, timers run in the asynchronous context of whoever set them; those of the fake clock do not. */
function keepContexts() {
    const { setTimeout: fakeTimeout, setInterval: fakeInterval } = globalThis;
    const bound = (set) => (callback, ms, ...given) => set(AsyncResource.bind(callback), ms, ...given);
    globalThis.setTimeout = bound(fakeTimeout);
    globalThis.setInterval = bound(fakeInterval);
}
//# sourceMappingURL=virtual-clock.js.map