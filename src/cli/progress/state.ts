/** What is going on in a run, as far as its events have told: the part that both ways of showing progress share. */
import type { RunEvent, StreamReport } from '../../core/run.ts';
import { count, duration, plural } from '../text.ts';

/** A stream that has begun and not ended. */
export interface Active {
  readonly pipeline: string;
  readonly stream: string;
  /** `performance.now()` when it began. */
  readonly since: number;
  received: number;
  expected: number | undefined;
  retries: number;
  waitingUntil: number | undefined;
  /** [ms, received] of the last seconds, oldest first: what the rate is taken from. */
  readonly samples: [number, number][];
}

/** Streams by pipeline and name, in the order in which they began. */
export type Going = Map<string, Active>;

const rateMs = 5000;

/** Brings the state up to date with one event. `now`: ms of a clock that only goes forward. */
export function follow(going: Going, event: RunEvent, now: number): void {
  if (event.type === 'stream.finished') going.delete(id(event.pipeline, event.report.stream));
  if (event.type === 'run.finished')
    for (const [key, at] of going) if (at.pipeline === event.pipeline) going.delete(key);
  if (event.type !== 'stream.started' && event.type !== 'stream.progress') return;
  const key = id(event.pipeline, event.stream);
  const at = going.get(key) ?? begun(event.pipeline, event.stream, now);
  going.set(key, at);
  if (event.type === 'stream.started') return;
  at.received = event.received;
  at.expected = event.expected;
  at.retries = event.retries;
  at.waitingUntil = event.waitingUntil;
  at.samples.push([now, event.received]);
  while (at.samples.length > 2 && now - (at.samples[0]?.[0] ?? now) > rateMs) at.samples.shift();
}

const id = (pipeline: string, stream: string): string => `${pipeline}.${stream}`;

const begun = (pipeline: string, stream: string, now: number): Active => ({
  pipeline,
  stream,
  since: now,
  received: 0,
  expected: undefined,
  retries: 0,
  waitingUntil: undefined,
  samples: [[now, 0]],
});

/** True if a stream ended as expected; brief progress prints nothing of it. */
export const isExpected = ({ status, counts }: StreamReport): boolean =>
  (status === 'ok' && counts.rejected === 0) || status === 'unavailable';

/** Records a second over the last seconds. */
export function rate(at: Active, now: number): number {
  const [then, before] = at.samples[0] ?? [at.since, 0];
  return now - then < 250 ? 0 : ((at.received - before) * 1000) / (now - then);
}

/**
 * The total as far as it means something: a stream that is read owner by owner learns its total only with its records, and would stand
 * at 100 % from the beginning to the end.
 */
export const total = ({ received, expected }: Pick<Active, 'received' | 'expected'>): number | undefined =>
  expected !== undefined && expected > received ? expected : undefined;

/** `3,100 of 5,000` · `1,240/s` · `2 retries` · `waiting for the rate limit, 13 s`, as far as there is anything to say. */
export function figures(at: Active, now: number, wallClock: number): readonly string[] {
  const speed = rate(at, now);
  return [
    total(at) === undefined ? count(at.received) : `${count(at.received)} of ${count(total(at) ?? 0)}`,
    ...(speed >= 1 ? [`${count(Math.round(speed))}/s`] : []),
    ...(at.retries > 0 ? [plural(at.retries, 'retry', 'retries')] : []),
    ...(at.waitingUntil !== undefined && at.waitingUntil > wallClock
      ? [
          `waiting for the rate limit until ${timeOfDay(at.waitingUntil)} UTC (${duration((at.waitingUntil - wallClock) / 1000)})`,
        ]
      : []),
  ];
}

const timeOfDay = (epochMs: number): string => new Date(epochMs).toISOString().slice(11, 19);

/** `5,000 records: 12 new, 3 changed, 4,985 as before`; of a reconciliation, which compares ids only, `5,000 ids: 1 deleted` */
export function outcome({
  counts,
  deleted,
  receipt,
}: Pick<StreamReport, 'counts' | 'deleted' | 'receipt'>): string {
  const idsOnly = counts.received === 0 && receipt.fetched > 0;
  const parts = [
    ...(counts.inserted > 0 ? [`${count(counts.inserted)} new`] : []),
    ...(counts.updated > 0 ? [`${count(counts.updated)} changed`] : []),
    ...(counts.unchanged + counts.superseded > 0
      ? [`${count(counts.unchanged + counts.superseded)} as before`]
      : []),
    ...(counts.deduplicated > 0 ? [`${count(counts.deduplicated)} seen twice`] : []),
    ...(counts.rejected > 0 ? [`${count(counts.rejected)} rejected`] : []),
    ...(deleted > 0 ? [`${count(deleted)} ${idsOnly ? 'deleted' : 'removed'}`] : []),
  ];
  const what = idsOnly ? plural(receipt.fetched, 'id') : plural(counts.received, 'record');
  return [what, ...(parts.length > 0 ? [parts.join(', ')] : [])].join(': ');
}
