/** Our own library with other policies of one kind: `change` gets the right one, and what it was made of. */
export function replacing(feature, change) {
    return (ours) => {
        const make = ours[feature];
        return { ...ours, [feature]: (spec) => change(make(spec), spec) };
    };
}
/** Our own library that reads what one kind of policy is made of in another way. */
export function reading(feature, read) {
    return (ours) => {
        const make = ours[feature];
        return { ...ours, [feature]: (spec) => make(read(spec)) };
    };
}
const KINDS = ['retry', 'timeout', 'breaker', 'bulkhead', 'rateLimit', 'budget', 'fallback', 'wrap'];
/** Our own library, which puts policies around each other in another way; the right one where `rewrap` has none. */
export function rewrapping(rewrap) {
    return (ours) => {
        const kinds = new WeakMap();
        const noting = (kind, make) => {
            return (...given) => {
                const policy = make(...given);
                kinds.set(policy, kind);
                return policy;
            };
        };
        const wrap = (...policies) => rewrap({ ours, policies, kinds: policies.map((policy) => kinds.get(policy)) }) ?? ours.wrap(...policies);
        const makers = KINDS.map((kind) => [kind, noting(kind, kind === 'wrap' ? wrap : ours[kind])]);
        return { ...ours, ...Object.fromEntries(makers) };
    };
}
/** The policy, with its work changed. */
export function around(right, change) {
    return { run: (work, signal) => right.run(change(work), signal) };
}
//# sourceMappingURL=mutation.js.map