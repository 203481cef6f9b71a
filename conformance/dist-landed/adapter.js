/**
 * The one narrow face by which scenarios see a library. An adapter sets a library up as its documentation says, with
 * whichever documented options make it behave as asked; what a library has not got, its adapter leaves out or refuses
 * with {@link NotOffered}.
 */
/**
 * A library has the feature, and not this side of it. Said at any time while a scenario runs, in a call that the
 * scenario only looks at too, it is why the scenario does not count when it fails.
 */
export class NotOffered extends Error {
    constructor(message) {
        super(message);
        this.name = 'NotOffered';
        NotOffered.said ??= this;
    }
}
//# sourceMappingURL=adapter.js.map