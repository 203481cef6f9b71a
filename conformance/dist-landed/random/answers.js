import { shapeOf, show } from './watch.js';
const REASONS = [
    'upstream_timeout',
    'budget_exhausted',
    'client_abort',
    'upstream_error',
    'circuit_open',
    'bulkhead_full',
    'rate_limited',
    'skipped',
];
const CHECKED_CODES = ['SECTION_FAILED'];
/** One answer of sections, and what is known of them. */
export class AnswerTrial {
    constructor(engine, watch, parts) {
        this.engine = engine;
        this.watch = watch;
        this.parts = parts;
        this.ran = new Set();
        this.told = [];
        this.isChecked = false;
        this.endsAt = watch.now + (parts.step.budget ?? Infinity);
    }
    begin() {
        return this.parts.step.kind === 'fan out' ? this.fanOut() : this.collect();
    }
    onEvent({ type, source, section }) {
        if (type === 'degraded' && source === this.parts.started.owner.id)
            this.told.push(section);
    }
    check(isOver) {
        const { settled, reasons } = this.parts.started;
        if (this.isChecked || !isOver)
            return;
        if (settled === undefined) {
            this.watch.require(this.endsAt > this.watch.now, 'answers-in-time', `an answer hangs ${this.watch.now - this.endsAt} ms after its end`);
            return;
        }
        this.isChecked = true;
        if (settled.ok)
            this.checkPage(settled.value);
        else
            this.checkError(settled.value, reasons);
    }
    fanOut() {
        const { step, options } = this.parts;
        const sections = {};
        step.sections.forEach((recipe, at) => {
            const after = Object.fromEntries(recipe.after.map((before) => [`in${before}`, sections[`s${before}`]]));
            sections[`s${at}`] = this.declare(recipe, at, { after });
        });
        return this.engine.fanOut(sections, {
            ...options,
            concurrency: step.concurrency,
            onRequiredFailure: step.settles ? 'settle' : 'cancel',
            minimum: 0,
        });
    }
    async collect() {
        const { step, options, policyOf } = this.parts;
        const collector = this.engine.collect(options);
        const data = {};
        for (const [at, recipe] of step.sections.entries()) {
            const { timeout, required } = recipe;
            const name = `s${at}`;
            const given = { timeout, policy: policyOf(recipe) };
            data[name] = required
                ? await collector.required(name, this.run(recipe, at), given)
                : await collector.optional(name, this.run(recipe, at), {
                    ...given,
                    fallback: fallbackOf(recipe, at),
                });
        }
        return { data, degraded: collector.degraded, partial: collector.partial };
    }
    declare(recipe, at, given) {
        const { required, optional } = this.engine;
        const options = { ...given, timeout: recipe.timeout, policy: this.parts.policyOf(recipe) };
        if (recipe.required)
            return required(this.run(recipe, at), options);
        return optional(this.run(recipe, at), {
            ...options,
            fallback: fallbackOf(recipe, at),
        });
    }
    run(recipe, at) {
        return (context) => {
            this.ran.add(at);
            const needs = this.parts.step.kind === 'fan out' ? recipe.after : [];
            const hasAll = needs.every((before) => `in${before}` in context);
            this.watch.require(hasAll, 'answers-tell-what-is-missing', 'a section runs without what it needs');
            return this.parts.perform(recipe, context);
        };
    }
    checkPage({ data, degraded, partial }) {
        const { sections } = this.parts.step;
        const values = data;
        const isMissing = (at) => values[`s${at}`] === `fallback ${at}`;
        const missing = sections.flatMap((_, at) => (isMissing(at) ? [`s${at}`] : []));
        const listed = degraded.map(({ section }) => section);
        const require = (holds, what) => this.watch.require(holds, 'answers-tell-what-is-missing', `${this.parts.started.owner.id} ${what}`);
        require(listed.join() === missing.join(), `lists ${listed.join()} instead of ${missing.join()}`);
        require(this.told.toSorted().join() ===
            missing.toSorted().join(), `tells of ${this.told.join()} instead of ${missing.join()}`);
        require(partial === missing.length > 0, 'is marked wrongly');
        require(Object.keys(values).length === sections.length, 'lacks sections');
        for (const { section, reason, waitedMs } of degraded) {
            this.watch.reach(reason === 'skipped' ? 'section skipped' : 'section degraded');
            const at = Number(section.slice(1));
            const { timeout = Infinity, required, work } = sections[at];
            require(REASONS.includes(reason) && !required, `says ${reason} of ${section}`);
            // An answer inside of it has a reason of its own, which it may tell.
            require(!this.ran.has(at) ||
                work.does === 'start' ||
                reason !== 'skipped', `says that ${section} was skipped, which ran`);
            require(waitedMs <=
                Math.min(timeout, this.parts.step.budget ?? Infinity) + LATE_MS, `says that ${section} took ${waitedMs} ms`);
        }
    }
    checkError(error, reasons) {
        if (reasons.includes(error))
            return;
        const { code } = shapeOf(error);
        const isOurs = CHECKED_CODES.includes(code);
        if (isOurs)
            this.watch.reach('section required and failed');
        this.watch.require(isOurs, 'reasons-apart', `an answer fails with ${show(error)}`);
        const isOnce = new Set(this.told).size === this.told.length;
        this.watch.require(isOnce, 'answers-tell-what-is-missing', `tells of ${this.told.join()}`);
    }
}
/** How much longer a held event loop may make it. */
const LATE_MS = 100;
function fallbackOf({ fallback }, at) {
    if (fallback === 'value')
        return `fallback ${at}`;
    if (fallback === 'function')
        return () => `fallback ${at}`;
    return () => {
        throw new Error('no fallback');
    };
}
//# sourceMappingURL=answers.js.map