import { AssertionError } from 'node:assert';
import { NotOffered } from './adapter.js';
import { Strays } from './strays.js';
import { InstalledClock } from './virtual-clock.js';
/** Turns of the event loop without a move of the clock, after which a scenario waits for what never comes. */
const PATIENCE_TURNS = 100_000;
/** Runs one scenario against one library, with a clock, and an eye on the process, of its own. */
export async function verdictOf(guarantee, adapter) {
    const missing = guarantee.needs.filter((feature) => adapter[feature] === undefined);
    if (missing.length > 0)
        return { kind: 'not offered', because: `no ${missing.join(', no ')}` };
    NotOffered.said = undefined;
    const clock = new InstalledClock();
    const strays = new Strays();
    try {
        await untilStuck(guarantee.check({ library: adapter, clock }), clock);
        await clock.settle();
        refuse(strays.found);
        return { kind: 'holds' };
    }
    catch (error) {
        return judged(error);
    }
    finally {
        strays.stop();
        clock.uninstall();
    }
}
function refuse(strays) {
    if (strays.length > 0)
        throw new AssertionError({ message: strays.join('; ') });
}
function judged(error) {
    if (NotOffered.said !== undefined)
        return { kind: 'not offered', because: NotOffered.said.message };
    if (error instanceof AssertionError)
        return { kind: 'fails', because: firstLine(error.message) };
    return { kind: 'fails', because: `threw ${firstLine(String(error))}` };
}
function firstLine(text) {
    return text.split('\n', 1)[0] ?? '';
}
/** Counts turns and no time: on a busy machine the verdict is the same. */
async function untilStuck(check, clock) {
    let isOver = false;
    const watched = async () => {
        let { moves } = clock;
        for (let idle = 0; !isOver && idle < PATIENCE_TURNS; idle += 1) {
            await new Promise((resolve) => setImmediate(resolve));
            if (clock.moves !== moves)
                [moves, idle] = [clock.moves, 0];
        }
        if (!isOver)
            throw new AssertionError({ message: 'never settled, however much time passed' });
    };
    try {
        await Promise.race([check, watched()]);
    }
    finally {
        isOver = true;
    }
}
//# sourceMappingURL=verdict.js.map