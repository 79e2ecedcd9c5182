/** The state of everything in words: the CLI and the dashboard say the same. */
import { clock, count, duration, plural, relative } from '../core/format.ts';
import type { StreamState } from './freshness.ts';
import { lastWhole, type Receipt, type RunLine } from './run-history.ts';

/**
 * The state of everything in one sentence: failures first, then how fresh the rest is, then the last run.
 * `last`: what `recentRuns` gives.
 */
export function sentence(streams: readonly StreamState[], last: readonly RunLine[], now: Date): string {
  const [newest] = last;
  if (streams.length === 0 || newest === undefined) return 'Nothing has been synced yet.';
  return `${freshness(streams, now)}; ${lastRun(newest, last, now)}.`;
}

function lastRun(newest: RunLine, last: readonly RunLine[], now: Date): string {
  if (newest.status === 'running' && newest.alive === true)
    return `run ${newest.runId} (${newest.kind}) is going since ${clock(newest.startedAt, now)} UTC`;
  const [whole] = lastWhole(last);
  // A run of every stream says most of the state; where none has ended, any other.
  const ended = whole ?? last.find((each) => each.finishedAt !== null);
  if (ended === undefined) return `run ${newest.runId} ended without an error message`;
  const how = ended.status === 'succeeded' ? '' : ` (${ended.status.replaceAll('_', ' ')})`;
  const name = whole === undefined ? ended.kind : 'run';
  return `last ${name} ${clock(ended.startedAt, now)} UTC, ${duration(ended.seconds)}${how}`;
}

/** What is wrong with a stream and since when, e.g. `stale, as of 3 h ago`; undefined: nothing. */
function trouble({ freshness, freshAt, last }: StreamState, now: Date): string | undefined {
  const since = freshAt === null ? 'never loaded' : `as of ${relative(freshAt, now)}`;
  if (freshness === 'never') return since;
  if (freshness === 'stale' || freshness === 'forbidden') return `${freshness}, ${since}`;
  if (freshness !== 'fresh' || (last?.status !== 'failed' && last?.status !== 'partial')) return undefined;
  const how = last.status === 'failed' ? 'failed' : 'partly read';
  return `${how}${last.finishedAt === null ? '' : ` ${relative(last.finishedAt, now)}`}, ${since}`;
}

/** Whether a stream is stale, never loaded, forbidden, or was not read to its end by its last run. */
export const isInTrouble = (stream: StreamState): boolean => trouble(stream, new Date()) !== undefined;

function freshness(streams: readonly StreamState[], now: Date): string {
  const number = (kind: StreamState['freshness']) => streams.filter((each) => each.freshness === kind).length;
  const [absent, excluded, fresh] = [number('unavailable'), number('excluded'), number('fresh')];
  const aside = [
    absent === 0 ? '' : `, ${count(absent)} not available from the source`,
    excluded === 0 ? '' : `, ${count(excluded)} excluded`,
  ].join('');
  const bad = inOrder(streams).flatMap((each) => {
    const what = trouble(each, now);
    return what === undefined ? [] : [`${each.pipeline}.${each.stream} ${what}`];
  });
  if (bad.length === 0)
    return fresh === 0 ? `No stream to keep fresh${aside}` : `All ${plural(fresh, 'stream')} fresh${aside}`;
  const more = bad.length > 3 ? `; and ${count(bad.length - 3)} more` : '';
  const need = bad.length === 1 ? 'needs' : 'need';
  const of = plural(streams.length - absent - excluded, 'stream');
  return `${count(bad.length)} of ${of} ${need} attention (${bad.slice(0, 3).join('; ')}${more}), ${count(fresh)} fresh${aside}`;
}

const order = ['stale', 'never', 'forbidden', 'fresh', 'unavailable', 'excluded'];

/** Those first that somebody should look at. */
export const inOrder = (streams: readonly StreamState[]): readonly StreamState[] =>
  [...streams].sort((a, b) => order.indexOf(a.freshness) - order.indexOf(b.freshness));

/** `expected 5,000 · read 5,000 · stored 5,000`; `expected –` where the source states no total. */
export const receiptText = ({ expected, fetched, landed }: Receipt): string =>
  `expected ${expected === null ? '–' : count(expected)} · read ${count(fetched)} · stored ${count(landed)}`;
