import { Misconfigured } from '../../core/errors.ts';
import type { HandedOver } from '../../queries/handoff-list.ts';
import {
  type BadSlice,
  runs as listRuns,
  type RunDetail,
  type RunLine,
  run,
} from '../../queries/run-history.ts';
import { receiptText } from '../../queries/summary-text.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { knownPipeline } from '../pipelines.ts';
import { toJson } from '../progress/json.ts';
import { filled } from '../schema.ts';
import { type Cell, facts, table } from '../table.ts';
import type { Sink, Style } from '../terminal.ts';
import { duration, escaped, minute, relative } from '../text.ts';

/** The last runs, or one of them in detail. */
export const runs: Verb<{
  readonly id?: string | undefined;
  readonly limit: number;
  readonly pipeline?: string | undefined;
}> = async (context, { id, limit, pipeline }) => {
  if (pipeline !== undefined) knownPipeline(pipeline);
  const { db } = await filled(context);
  if (id !== undefined) {
    const found = /^\d{1,18}$/.test(id) ? await run(db, id) : undefined;
    if (found === undefined) throw new Misconfigured(`there is no run ${id}; \`tidemark runs\` lists them`);
    if (context.json) context.out.line(toJson(found, 2));
    else detail(context, found);
    return exit.ok;
  }
  const found = await listRuns(db, { pipeline, limit });
  const now = new Date();
  if (context.json) context.out.line(toJson({ runs: found }, 2));
  else if (found.length === 0)
    context.out.line(pipeline === undefined ? 'No run yet.' : `No run of ${pipeline} yet.`);
  else
    for (const line of table(
      heads,
      found.map((each) => row(each, now)),
      context.out,
    ))
      context.out.line(line);
  return exit.ok;
};

const right = (title: string) => ({ title, align: 'right' }) as const;

const heads = [
  right('RUN'),
  { title: 'PIPELINE' },
  { title: 'KIND' },
  { title: 'STATUS' },
  { title: 'STARTED' },
  right('TOOK'),
  right('RECORDS'),
  right('NEW'),
  right('CHANGED'),
  right('DELETED'),
  right('REJECTED'),
  { title: 'ERROR', flexible: true },
];

const row = (each: RunLine, now: Date): readonly Cell[] => [
  each.runId,
  each.pipeline,
  each.kind,
  statusCell(each),
  relative(each.startedAt, now),
  duration(each.seconds),
  each.counts.received,
  each.counts.inserted,
  each.counts.updated,
  each.counts.deleted,
  each.counts.rejected,
  each.error?.message ?? '',
];

const styles: Readonly<Record<string, Style>> = {
  succeeded: 'green',
  ok: 'green',
  running: 'cyan',
  partly_failed: 'yellow',
  partial: 'yellow',
  needs_attention: 'yellow',
  interrupted: 'yellow',
  failed: 'red',
  lost: 'red',
};

const painted = (word: string): Cell => ({ text: word, style: styles[word] ?? 'dim' });

const statusCell = (each: RunLine): Cell =>
  each.alive === false ? { text: 'running?', style: 'red' } : painted(each.status);

function detail({ out }: Context, found: RunDetail): void {
  const lines = (texts: readonly string[]) => {
    for (const text of texts) out.line(text);
  };
  out.line(
    out.paint(
      'bold',
      `Run ${found.runId}: ${found.pipeline} ${found.kind}, ${found.status.replaceAll('_', ' ')}`,
    ),
  );
  lines(
    facts(
      [
        [
          'started',
          `${minute(found.startedAt)} UTC (${relative(found.startedAt, new Date())}), ${found.trigger}`,
        ],
        ['took', duration(found.seconds)],
        [
          'requests',
          `${found.requests}, ${found.retries} retried${found.throttledMs < 50 ? '' : `, ${duration(found.throttledMs / 1000)} waited for the rate limit`}`,
        ],
        ['asked', JSON.stringify(found.params)],
        ['version', found.appVersion],
        ...(found.error === null ? [] : [['error', `${found.error.code}: ${found.error.message}`] as const]),
      ],
      out,
    ),
  );
  if (found.alive === false)
    out.line(out.paint('red', 'Its process has not been heard of: the next run goes on from here.'));
  if (found.streams.length > 0) streamTable(found, out);
  if (found.badSlices.length > 0) {
    out.line();
    out.line(out.paint('bold', 'Slices that are not done (the next run reads them again)'));
    lines(table(sliceHeads, found.badSlices.map(sliceRow), out));
  }
  if (found.handoffs.length === 0) return;
  out.line();
  out.line(out.paint('bold', 'Handed over'));
  lines(table(handoffHeads, found.handoffs.map(handoffRow), out));
}

function streamTable(found: RunDetail, out: Sink): void {
  out.line();
  for (const line of table(
    streamHeads,
    found.streams.map((each) => [
      each.stream,
      painted(each.status),
      each.slices,
      receiptText(each.receipt),
      each.counts.inserted,
      each.counts.updated,
      each.counts.unchanged + each.counts.superseded,
      each.counts.deleted,
      each.counts.rejected,
      each.seconds === null ? null : duration(each.seconds),
      each.reason ?? '',
    ]),
    out,
  ))
    out.line(line);
}

const streamHeads = [
  { title: 'STREAM' },
  { title: 'STATUS' },
  right('SLICES'),
  right('RECEIPT'),
  right('NEW'),
  right('CHANGED'),
  right('AS BEFORE'),
  right('DELETED'),
  right('REJECTED'),
  right('TOOK'),
  { title: 'WHY', flexible: true },
];

const handoffHeads = [
  { title: 'DAG' },
  { title: 'RUN THERE' },
  { title: 'STATUS' },
  { title: 'IT SAYS' },
  { title: 'SINCE (UTC)' },
  { title: 'PARAMETERS', flexible: true },
  { title: 'WHY', flexible: true },
];

const handoffRow = (each: HandedOver): readonly Cell[] => [
  each.dag,
  each.dagRunId,
  painted(each.status),
  each.engineStatus ?? '',
  minute(each.changedAt),
  each.params,
  each.error ?? '',
];

const sliceHeads = [
  { title: 'STREAM' },
  { title: 'OF' },
  { title: 'FROM (UTC)' },
  { title: 'TO (UTC)' },
  { title: 'STATUS' },
  right('RECEIPT'),
  { title: 'WHY', flexible: true },
];

const sliceRow = (each: BadSlice): readonly Cell[] => [
  each.stream,
  each.partition === null ? null : partitionText(each.partition),
  each.from === null ? null : minute(each.from),
  each.to === null ? null : minute(each.to),
  painted(each.status),
  each.fetched === null
    ? null
    : receiptText({ expected: each.expected, fetched: each.fetched, landed: each.landed ?? 0 }),
  each.error?.message ?? '',
];

/** `{"board_id":"7"}` → `board_id 7` */
export const partitionText = (partition: unknown): string =>
  typeof partition === 'object' && partition !== null
    ? Object.entries(partition)
        .map(([name, value]) => `${name} ${escaped(String(value))}`)
        .join(', ')
    : String(partition);
