import { describe, expect, it } from 'vitest';
import { CircuitBreakerPolicy } from '../policies/circuit-breaker.js';
import { EventRecorder } from './index.js';

describe('an event recorder', () => {
  it('writes down the events of one policy', () => {
    const [watched, other] = [new CircuitBreakerPolicy({ name: 'carrier' }), new CircuitBreakerPolicy()];
    const recorder = new EventRecorder(watched);
    other.trip();
    watched.trip();
    watched.reset();

    expect(recorder.types).toEqual(['circuit-open', 'circuit-closed']);
    expect(recorder.of('circuit-open')).toEqual([
      { type: 'circuit-open', policy: 'carrier', from: 'closed', to: 'open' },
    ]);
    expect(recorder.of('retry')).toEqual([]);
  });

  it('writes down those of the whole process when it is given no policy, until it is stopped', () => {
    const recorder = new EventRecorder();
    const [first, second] = [new CircuitBreakerPolicy(), new CircuitBreakerPolicy()];
    first.trip();
    second.trip();
    recorder.stop();
    first.reset();

    expect(recorder.types).toEqual(['circuit-open', 'circuit-open']);
  });

  it('can begin again', () => {
    const breaker = new CircuitBreakerPolicy();
    const recorder = new EventRecorder(breaker);
    breaker.trip();
    recorder.clear();
    breaker.reset();

    expect(recorder.types).toEqual(['circuit-closed']);
  });
});
