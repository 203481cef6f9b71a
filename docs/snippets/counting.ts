// #region engine
import { subscribe } from 'holdfast';

export const counts = new Map<string, number>();

export const stopCounting = subscribe((event) => {
  const series = `${event.type} ${event.policy}`;
  counts.set(series, (counts.get(series) ?? 0) + 1);
});
// #endregion
