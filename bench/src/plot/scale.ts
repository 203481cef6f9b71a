/** From values to places in a picture. */
export interface Scale {
  (value: number): number;
  /** Values that a reader is shown, in order. */
  readonly ticks: readonly number[];
}

/** What values there are, and where the first and the last of them are. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** In the picture. */
  readonly at: readonly [first: number, last: number];
}

/** Equal steps are equal distances; a tick at every multiple of a round number, `count` of them or a few more. */
export function linearScale({ from, to, at }: Span, count = 5): Scale {
  const place = (value: number): number => at[0] + ((value - from) / (to - from)) * (at[1] - at[0]);
  const step = roundStep((to - from) / count);
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / step - 1e-9); tick * step <= to + 1e-9; tick++) {
    ticks.push(Number((tick * step).toPrecision(12)));
  }

  return Object.assign(place, { ticks });
}

function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));

  return ([1, 2, 5, 10].find((each) => each * power >= step - 1e-12) ?? 10) * power;
}

/**
 * Equal factors are equal distances; a tick at every power of ten, and at twice and five times of it where there are few
 * of those. Values lie above 0.
 */
export function logScale({ from, to, at }: Span): Scale {
  const linear = linearScale({ from: Math.log10(from), to: Math.log10(to), at });
  const steps = Math.log10(to / from) < 2 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); 10 ** power <= to; power++) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(1)));
  }

  return Object.assign((value: number) => linear(Math.log10(value)), {
    ticks: ticks.filter((tick) => tick >= from && tick <= to),
  });
}
