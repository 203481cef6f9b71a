import { describe, expect, it } from 'vitest';
import { Idempotent } from '../idempotency.decorator.js';
import { HandlerPlans } from './handler-plans.js';

const storeNothing = (): boolean => false;

@Idempotent({ ttl: '2h', required: true, retryAfter: undefined })
class Payments {
  @Idempotent({ ttl: 5, storeIf: storeNothing, required: undefined })
  create(): void {}

  byClass(): void {}

  @Idempotent(false)
  read(): void {}
}

class Inheriting extends Payments {}

@Idempotent(false)
class OptedOut extends Payments {
  @Idempotent()
  back(): void {}

  override byClass(): void {}
}

class Plain {
  undecorated(): void {}
}

const plans = new HandlerPlans({ ttl: 1, retryAfter: 7 });

describe('What holds for a handler', () => {
  it('is its own, then what its class says, then what the module says, field by field', () => {
    const plan = plans.ofMethod(Payments, Payments.prototype.create);

    expect(plan).toMatchObject({ source: 'Payments.create', byClassOnly: false });
    expect(plan?.settings).toMatchObject({
      ttl: 5,
      required: true,
      retryAfter: 7,
      lockTtl: 60_000,
      storeIf: storeNothing,
    });
  });

  it('may be said by its class alone', () => {
    const plan = plans.ofMethod(Payments, Payments.prototype.byClass);

    expect(plan).toMatchObject({ source: 'Payments.byClass', byClassOnly: true, settings: { ttl: 7_200_000 } });
  });

  it('is nothing where nobody has decorated it, or it has opted out', () => {
    expect(plans.ofMethod(Plain, Plain.prototype.undecorated)).toBeUndefined();
    expect(plans.ofMethod(Payments, Payments.prototype.read)).toBeUndefined();
    expect(plans.ofMethod(OptedOut, OptedOut.prototype.byClass)).toBeUndefined();
  });

  it('is inherited with the class, under the name of the class that is called', () => {
    expect(plans.ofMethod(Inheriting, Payments.prototype.create)).toMatchObject({ source: 'Inheriting.create' });
    expect(plans.ofMethod(Inheriting, Payments.prototype.byClass)?.settings.required).toBe(true);
    expect(plans.ofMethod(OptedOut, OptedOut.prototype.back)?.settings).toMatchObject({ ttl: 1, required: false });
  });

  it('is looked up once', () => {
    expect(plans.ofMethod(Payments, Payments.prototype.create)).toBe(
      plans.ofMethod(Payments, Payments.prototype.create),
    );
  });
});
