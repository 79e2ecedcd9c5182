/** How a pipeline's source is read, in the engine's units. */
import type { Config } from '../config/config.ts';
import { Misconfigured } from '../core/errors.ts';
import { days, hours } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';

/** What differs between the sources in a run. */
export type Settings = Pick<
  RunDeps,
  'exclude' | 'concurrency' | 'lookbackMs' | 'createdWindowMs' | 'historyStart'
>;

/** Requests at once where no variable says otherwise. */
const usualConcurrency = 4;

/** Throws Misconfigured where the pipeline's source is not configured. */
export function settingsOf(config: Config, pipeline: string): Settings {
  const { tracker, ads, workflow } = config;
  // Lists and reports by day have no lookback: they are read whole, or restated.
  const none = { lookbackMs: 0, createdWindowMs: 0 };
  if (pipeline === 'tracker' && tracker !== undefined)
    return {
      exclude: tracker.exclude,
      concurrency: tracker.concurrency,
      lookbackMs: hours(tracker.lookbackHours),
      createdWindowMs: days(tracker.createdWindowDays),
      historyStart: tracker.start,
    };
  if (pipeline === 'ads' && ads !== undefined)
    return { ...none, exclude: ads.exclude, concurrency: ads.concurrency, historyStart: ads.start };
  if (pipeline === 'workflow' && workflow !== undefined)
    return { ...none, exclude: workflow.exclude, concurrency: usualConcurrency, historyStart: new Date(0) };
  throw new Misconfigured(`${pipeline} is not configured`);
}
