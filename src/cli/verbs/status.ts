import { type RunLine, runs } from '../../run/history/runs.ts';
import { type StreamState, streamStates } from '../../run/history/status.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/choose.ts';
import { existing } from '../schema.ts';
import { type Cell, table } from '../table.ts';
import type { Style } from '../terminal.ts';
import { clock, count, duration, escaped, plural, relative } from '../text.ts';

/** One sentence of truth, then every stream with its age. */
export const status: Verb<object> = async (context) => {
  const warehouse = await existing(context);
  const streams = warehouse === undefined ? [] : await streamStates(warehouse.db);
  const last = warehouse === undefined ? [] : await runs(warehouse.db, { limit: 20 });
  const now = new Date();
  if (context.json) {
    const fresh =
      streams.length > 0 && streams.every((each) => each.freshness !== 'stale' && each.freshness !== 'never');
    context.out.line(toJson({ sentence: sentence(streams, last, now), fresh, lastRun: last[0] ?? null, streams }, 2));
    return exit.ok;
  }
  const style: Style = streams.some((each) => each.freshness === 'stale' || each.freshness === 'never')
    ? 'yellow'
    : 'bold';
  context.out.line(context.out.paint(style, escaped(sentence(streams, last, now))));
  for (const line of attention(streams, last, now)) context.out.line(line);
  if (streams.length > 0) {
    context.out.line();
    for (const line of table(
      heads,
      inOrder(streams).map((each) => row(each, now)),
      context.out,
    ))
      context.out.line(line);
  }
  if (streams.length === 0 && !context.quiet) hint(context);
  return exit.ok;
};

/** The state of everything in one sentence. */
export function sentence(streams: readonly StreamState[], last: readonly RunLine[], now: Date): string {
  const [newest] = last;
  if (streams.length === 0 || newest === undefined) return 'Nothing has been synced yet.';
  const going = newest.status === 'running' && newest.alive === true;
  const ended = last.find((each) => each.finishedAt !== null && (each.kind === 'sync' || each.kind === 'full'));
  const tail = going
    ? `run ${newest.runId} (${newest.kind}) is going since ${clock(newest.startedAt, now)} UTC`
    : ended === undefined
      ? `run ${newest.runId} ended without a word`
      : `last run ${clock(ended.startedAt, now)} UTC, ${duration(ended.seconds)}${ended.status === 'succeeded' ? '' : ` (${ended.status.replaceAll('_', ' ')})`}`;
  return `${freshness(streams, now)}; ${tail}.`;
}

function freshness(streams: readonly StreamState[], now: Date): string {
  const of = (...kinds: readonly StreamState['freshness'][]) =>
    streams.filter((each) => kinds.includes(each.freshness));
  const late = of('stale', 'never');
  const absent = of('unavailable', 'forbidden');
  const present = streams.length - absent.length;
  const aside = absent.length === 0 ? '' : `, ${count(absent.length)} not available from the source`;
  if (late.length === 0) return `All ${plural(present, 'stream')} fresh${aside}`;
  const named = late
    .slice(0, 3)
    .map((each) => `${each.stream} ${each.freshAt === null ? 'never loaded' : `as of ${relative(each.freshAt, now)}`}`);
  const more = late.length > 3 ? ` and ${late.length - 3} more` : '';
  return `${count(late.length)} of ${plural(present, 'stream')} not fresh (${named.join(', ')}${more})${aside}`;
}

/** What somebody should look at, one line each. */
function attention(streams: readonly StreamState[], last: readonly RunLine[], now: Date): readonly string[] {
  const [newest] = last;
  const rejected = streams.reduce((sum, each) => sum + each.openRejects, 0);
  return [
    ...(newest?.error ? [`Run ${newest.runId} said: ${escaped(newest.error.message)}`] : []),
    ...(newest?.status === 'running' && newest.alive === false
      ? [
          `Run ${newest.runId}, begun ${relative(newest.startedAt, now)}, has lost its process; the next run goes on from there.`,
        ]
      : []),
    ...(rejected > 0 ? [`${plural(rejected, 'record')} could not become rows: \`tidemark rejects list\`.`] : []),
  ];
}

const order: readonly StreamState['freshness'][] = ['stale', 'never', 'forbidden', 'fresh', 'unavailable'];

const inOrder = (streams: readonly StreamState[]): readonly StreamState[] =>
  [...streams].sort((a, b) => order.indexOf(a.freshness) - order.indexOf(b.freshness));

const styles: Readonly<Record<StreamState['freshness'], Style>> = {
  fresh: 'green',
  stale: 'yellow',
  never: 'yellow',
  unavailable: 'dim',
  forbidden: 'yellow',
};

const heads = [
  { title: 'STREAM' },
  { title: 'STATE' },
  { title: 'AS OF' },
  { title: 'LAST RUN' },
  { title: 'RECEIPT', align: 'right' },
  { title: 'REJECTS', align: 'right' },
  { title: 'WHY', flexible: true },
] as const;

const row = (each: StreamState, now: Date): readonly Cell[] => [
  `${each.pipeline}.${each.stream}`,
  { text: each.freshness, style: styles[each.freshness] },
  each.freshAt === null ? null : relative(each.freshAt, now),
  each.last === null ? null : `${each.last.runId} ${each.last.status}`,
  each.last === null ? null : receiptText(each.last.receipt),
  each.openRejects,
  each.freshness === 'fresh' && each.last?.status === 'ok' ? '' : (each.reason ?? ''),
];

/** `5,000 = 5,000 = 5,000` (expected = fetched = landed), `≠` where they differ, `–` where the source states no total. */
export function receiptText({
  expected,
  fetched,
  landed,
}: {
  expected: number | null;
  fetched: number;
  landed: number;
}): string {
  const first = expected === null ? '–' : `${count(expected)} ${expected === fetched ? '=' : '≠'}`;
  return `${first} ${count(fetched)} ${fetched === landed ? '=' : '≠'} ${count(landed)}`;
}

function hint(context: Context): void {
  context.err.line(
    'Set TRACKER_BASE_URL and its credentials (see .env.example) and run `tidemark sync`, or try `tidemark demo`.',
  );
}
