import { type StreamState, streamStates } from '../../queries/freshness.ts';
import { complaining, type RunLine, recentRuns } from '../../queries/run-history.ts';
import { inOrder, isInTrouble, receiptText, summaryText } from '../../queries/summary-text.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/json.ts';
import { existing } from '../schema.ts';
import { type Cell, table } from '../table.ts';
import type { Style } from '../terminal.ts';
import { escaped, plural, relative } from '../text.ts';

/** One sentence first, then every stream with its age. */
export const status: Verb<object> = async (context) => {
  const warehouse = await existing(context);
  const streams = warehouse === undefined ? [] : await streamStates(warehouse.db);
  const last = warehouse === undefined ? [] : await recentRuns(warehouse.db);
  const now = new Date();
  if (context.json) {
    const fresh =
      streams.length > 0 && streams.every((each) => each.freshness !== 'stale' && each.freshness !== 'never');
    context.out.line(
      toJson({ sentence: summaryText(streams, last, now), fresh, lastRun: last[0] ?? null, streams }, 2),
    );
    return exit.ok;
  }
  const style: Style = streams.some(isInTrouble) ? 'yellow' : 'bold';
  context.out.line(context.out.paint(style, escaped(summaryText(streams, last, now))));
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

/** What somebody should look at, one line each. */
function attention(streams: readonly StreamState[], last: readonly RunLine[], now: Date): readonly string[] {
  const [newest] = last;
  const rejected = streams.reduce((sum, each) => sum + each.openRejects, 0);
  return [
    ...complaining(last).map((each) => `Run ${each.runId} said: ${escaped(each.error?.message ?? '')}`),
    ...(newest?.status === 'running' && newest.alive === false
      ? [
          `Run ${newest.runId}, begun ${relative(newest.startedAt, now)}, has lost its process; the next run goes on from there.`,
        ]
      : []),
    ...(rejected > 0
      ? [`${plural(rejected, 'record')} could not become rows: \`tidemark rejects list\`.`]
      : []),
  ];
}

const styles: Readonly<Record<StreamState['freshness'], Style>> = {
  fresh: 'green',
  stale: 'yellow',
  never: 'yellow',
  unavailable: 'dim',
  forbidden: 'yellow',
  excluded: 'dim',
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

function hint(context: Context): void {
  context.err.line(
    'Set TRACKER_BASE_URL and its credentials (see .env.example) and run `tidemark sync`, or try `tidemark demo`.',
  );
}
