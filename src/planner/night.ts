/** What runs when tonight, how long it takes, what limits it, and whether it fits into the night. */
import { count, duration, plural } from '../core/format.ts';
import type { StreamSize } from '../core/run.ts';
import { hours } from '../core/time.ts';
import type { Estimated } from './estimate.ts';
import type { PastRuns } from './history.ts';

/** A pipeline that runs tonight. */
export interface Tonight {
  readonly pipeline: string;
  /** When it is due; undefined: never by itself. */
  readonly due: Date | undefined;
  /** It is a part of `nightly`. */
  readonly isPart: boolean;
  /** Requests a second that its configuration allows; 0: no limit. */
  readonly perSecond: number;
  /** The name of the setting by which owners are read in turn. */
  readonly rotatedBy: string;
  readonly streams: readonly Estimated<StreamSize>[];
  readonly past: PastRuns | undefined;
}

/** A pipeline's part in the night. */
export interface PipelinePlan extends Pick<Tonight, 'pipeline' | 'streams'> {
  readonly at: Date | null;
  readonly requests: number;
  /** Null where nothing is known of how long requests take. */
  readonly seconds: number | null;
  /** What makes it take that long. */
  readonly limit: string | null;
  /** Streams of which the requests are not known: they were never read like this. */
  readonly unknown: readonly string[];
  /** Of the newest run that had an estimate. */
  readonly lastErrorRatio: number | null;
}

/** The whole night. For people: `findings`, what does not fit and what helps; `uncounted`, what the plan does not know. */
export interface NightPlan {
  readonly nightHours: number;
  readonly fits: boolean;
  readonly findings: readonly string[];
  readonly uncounted: readonly string[];
  readonly pipelines: readonly PipelinePlan[];
}

/** Puts the pipelines into the night; parts of `nightly` wait for each other where they are more than run `atOnce`. */
export function planNight(tonight: readonly Tonight[], nightHours: number, atOnce: number): NightPlan {
  const free = Array<number>(atOnce).fill(0);
  const pipelines = tonight.map((each) => {
    const first = each.isPart ? Math.min(...free) : 0;
    const plan = pipelinePlan(each, first);
    if (each.isPart) free[free.indexOf(first)] = first + (plan.seconds ?? 0);
    return plan;
  });
  const over = Math.max(...free);
  const night = hours(nightHours) / 1000;
  const own = tonight.flatMap((each, at) => {
    const seconds = pipelines[at]?.seconds ?? 0;
    return seconds > night ? tooLong(each, seconds, nightHours) : [];
  });
  const together = `the pipelines of nightly need ${duration(over)} together, ${atOnce} at once, and the night has ${duration(night)}: let more run at once (TIDEMARK_JOBS), start another serve, or give one of them a schedule of its own`;
  const findings = own.length === 0 && over > night ? [together] : own;
  const uncounted = pipelines.flatMap(({ pipeline, unknown }) =>
    unknown.length > 0 ? [`${pipeline}: not counted, never read like this: ${unknown.join(', ')}.`] : [],
  );
  return { nightHours, fits: findings.length === 0, findings, uncounted, pipelines };
}

/** Says of a night that it fits. */
export const fitText = ({ nightHours }: NightPlan): string =>
  `It fits into the night of ${nightHours} h, as far as it is known.`;

function pipelinePlan(tonight: Tonight, waitSeconds: number): PipelinePlan {
  const { pipeline, streams, past, due } = tonight;
  const requests = Math.round(sumOf(streams) + (past ? past.others / past.runs : 0));
  const [longest] = limitsOf(tonight, requests).toSorted((a, b) => b.seconds - a.seconds);
  return {
    pipeline,
    requests,
    streams,
    at: due === undefined ? null : new Date(due.getTime() + waitSeconds * 1000),
    seconds: longest?.seconds ?? null,
    limit: longest?.limit ?? null,
    unknown: streams.flatMap(({ stream, requests }) => (requests === undefined ? [stream] : [])),
    lastErrorRatio: past ? errorRatio(past.lastEstimated, past.lastRequests) : null,
  };
}

/** How far an estimate was off: its distance from what came ÷ what came. Null where there is none, or nothing came. */
export const errorRatio = (estimated: number | null, came: number | null): number | null =>
  estimated !== null && came !== null && came > 0 ? Math.abs(estimated - came) / came : null;

/** What of a stream its time follows from. */
type StreamTime = Pick<Estimated<StreamSize>, 'requests' | 'seconds' | 'perSecond'>;

/** The least that streams take which are read at the same time: the longest of them, or what a limit allows them together. */
export function leastSeconds(streams: readonly StreamTime[]): number {
  const longest = Math.max(0, ...streams.map(({ seconds = 0 }) => seconds));
  return Math.max(longest, ...limited(streams).map(({ seconds }) => seconds));
}

/** Streams that share a limit of their source, together. */
const limited = (streams: readonly StreamTime[]) =>
  [...Map.groupBy(streams, ({ perSecond = 0 }) => perSecond)].flatMap(([perSecond, some]) =>
    limitOf('reports', perSecond, sumOf(some)),
  );

/** How long so many requests take by a limit; none where there is no limit. */
const limitOf = (what: string, perSecond: number, requests: number) =>
  perSecond > 0 ? [{ seconds: requests / perSecond, limit: `limit of ${what}: ${perSecond} a second` }] : [];

const sumOf = (streams: readonly StreamTime[]): number =>
  streams.reduce((sum, { requests = 0 }) => sum + requests, 0);

/** What the pipeline takes by each limit, and at the pace of the last runs. */
function limitsOf({ streams, perSecond, past }: Tonight, requests: number) {
  const pace = past && past.seconds > 0 ? past.requests / past.seconds : 0;
  const asBefore = `as fast as the last runs: ${shortly(pace)} requests a second`;
  return [
    ...limitOf('all requests', perSecond, requests),
    ...limited(streams),
    ...(pace > 0 ? [{ seconds: requests / pace, limit: asBefore }] : []),
  ];
}

const shortly = (rate: number): string => (rate < 10 ? rate.toFixed(1) : count(Math.round(rate)));

/** Why a pipeline does not fit by itself: its slowest streams, and what helps. */
function tooLong({ pipeline, streams, rotatedBy }: Tonight, seconds: number, nightHours: number) {
  const slowest = streams
    .filter((stream) => (stream.seconds ?? 0) > 0)
    .toSorted((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0))
    .slice(0, 3);
  const isReport = slowest.some(({ perSecond }) => perSecond !== undefined);
  const named = slowest.map(({ stream, owners, seconds = 0, perSecond }) => {
    const of = owners === undefined ? '' : ` of ${plural(owners.count, ownerName(owners.table))}`;
    return `${stream}${of} need ${duration(seconds)}${perSecond ? ` at ${perSecond} requests a second` : ''}`;
  });
  const [most] = slowest;
  const example =
    most && `=${most.stream}:${Math.round(((most.requests ?? 0) * nightHours * 3600) / seconds)}`;
  const help = [
    `read owners in turn (${rotatedBy}${example ?? ''})`,
    ...(isReport ? ['read fewer days again each night', 'leave to CSV reports what they have, too'] : []),
    'spread the owners over pipelines with credentials of their own',
    'ask for a higher limit',
  ];
  return [
    `${pipeline} does not fit into the night: it needs ${duration(seconds)} of ${nightHours} h. ${named.join('; ')}.`,
    `What helps ${pipeline}: ${help.join(', or ')}.`,
  ];
}

/** `ads.ad_accounts` → `ad account` */
const ownerName = (table: string): string => (/\.(.*?)s?$/.exec(table)?.[1] ?? table).replaceAll('_', ' ');
