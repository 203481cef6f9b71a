import assert from 'node:assert/strict';
import { NotOffered } from './adapter.js';
import { observe } from './observed.js';
import { fine } from './works.js';
/** Settings that make no sense are refused when the policy is made, or by its calls. */
export async function assertRefused(make, clock) {
    let call;
    try {
        call = observe(make().run(fine));
    }
    catch (error) {
        if (error instanceof NotOffered)
            throw error;
        return;
    }
    await clock.settle();
    assert.equal(call.state, 'rejected', `a call with such settings is ${call.state}`);
}
//# sourceMappingURL=refused.js.map