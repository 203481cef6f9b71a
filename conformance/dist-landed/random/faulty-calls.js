/** The engine with another `execute()`, of all that is put together with `wrap()`. */
export function executing(engine, execute) {
    const { ResiliencePolicy } = engine;
    class Faulty extends ResiliencePolicy {
        static wrap(...policies) {
            const right = ResiliencePolicy.wrap(...policies);
            const run = (work, options) => right.execute(work, options);
            return Object.create(right, {
                execute: { value: (work, options = {}) => execute({ run, work, options }) },
            });
        }
    }
    return { ...engine, ResiliencePolicy: Faulty };
}
//# sourceMappingURL=faulty-calls.js.map