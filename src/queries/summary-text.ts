/** The state of everything in words: the CLI and the dashboard say the same. */
import { clock, count, duration, plural, relative } from '../core/format.ts';
import type { StreamState } from './freshness.ts';
import { lastWhole, type Receipt, type RunLine } from './run-history.ts';

/** The state of everything in one sentence; `last`: what `recentRuns` gives. */
export function sentence(streams: readonly StreamState[], last: readonly RunLine[], now: Date): string {
  const [newest] = last;
  if (streams.length === 0 || newest === undefined) return 'Nothing has been synced yet.';
  const going = newest.status === 'running' && newest.alive === true;
  const [whole] = lastWhole(last);
  // A run of every stream says most of the state; where none has ended, any other.
  const ended = whole ?? last.find((each) => each.finishedAt !== null);
  const tail = going
    ? `run ${newest.runId} (${newest.kind}) is going since ${clock(newest.startedAt, now)} UTC`
    : ended === undefined
      ? `run ${newest.runId} ended without a word`
      : `last ${whole === undefined ? ended.kind : 'run'} ${clock(ended.startedAt, now)} UTC, ${duration(ended.seconds)}${ended.status === 'succeeded' ? '' : ` (${ended.status.replaceAll('_', ' ')})`}`;
  return `${freshness(streams, now)}; ${tail}.`;
}

function freshness(streams: readonly StreamState[], now: Date): string {
  const of = (...kinds: readonly StreamState['freshness'][]) =>
    streams.filter((each) => kinds.includes(each.freshness));
  const late = of('stale', 'never');
  const absent = of('unavailable', 'forbidden');
  const excluded = of('excluded');
  const present = streams.length - absent.length - excluded.length;
  const aside = [
    absent.length === 0 ? '' : `, ${count(absent.length)} not available from the source`,
    excluded.length === 0 ? '' : `, ${count(excluded.length)} excluded`,
  ].join('');
  if (late.length === 0) return `All ${plural(present, 'stream')} fresh${aside}`;
  const named = late
    .slice(0, 3)
    .map(
      (each) =>
        `${each.stream} ${each.freshAt === null ? 'never loaded' : `as of ${relative(each.freshAt, now)}`}`,
    );
  const more = late.length > 3 ? ` and ${late.length - 3} more` : '';
  return `${count(late.length)} of ${plural(present, 'stream')} not fresh (${named.join(', ')}${more})${aside}`;
}

const order: readonly StreamState['freshness'][] = [
  'stale',
  'never',
  'forbidden',
  'fresh',
  'unavailable',
  'excluded',
];

/** Those first that somebody should look at. */
export const inOrder = (streams: readonly StreamState[]): readonly StreamState[] =>
  [...streams].sort((a, b) => order.indexOf(a.freshness) - order.indexOf(b.freshness));

/** `5,000 = 5,000 = 5,000` (expected = fetched = landed), `≠` where they differ, `–` where the source states no total. */
export function receiptText({ expected, fetched, landed }: Receipt): string {
  const first = expected === null ? '–' : `${count(expected)} ${expected === fetched ? '=' : '≠'}`;
  return `${first} ${count(fetched)} ${fetched === landed ? '=' : '≠'} ${count(landed)}`;
}
