import { show } from '../watch.js';
/** What has been spent since a call came to a stage that may refuse it. */
export class RefusalCost {
    constructor(watch) {
        this.watch = watch;
        this.timers = watch.world.timersStarted;
        this.controllers = watch.world.controllersMade;
    }
    requireNone(name, error) {
        const { timersStarted, controllersMade } = this.watch.world;
        const require = (holds, what) => this.watch.require(holds, 'refusals-cost-nothing', `${name}: ${what} for ${show(error)}`);
        require(timersStarted === this.timers, 'started a timer');
        require(controllersMade === this.controllers, 'made a controller');
        require(!/\n\s+at /.test(error.stack ?? ''), 'captured a stack');
    }
}
//# sourceMappingURL=refusal-cost.js.map