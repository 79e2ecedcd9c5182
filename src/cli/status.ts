/** `status` and `streams`: how fresh every stream is, and what one of them holds. */
import { escaped, plural, relative } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import { complaining, type RunLine, recentRuns } from '../queries/run-history.ts';
import { columns, type RowCount, receipts, rowCount, tableName } from '../queries/stream-history.ts';
import { inOrder, isInTrouble, summaryText } from '../queries/summary-text.ts';
import type { Context, Verb } from './context.ts';
import { facts, print, table } from './output.ts';
import { knownStream } from './pipelines.ts';
import { existing, filled } from './schema.ts';

/** One sentence, then every stream with its age. Always ends with 0. */
export const status: Verb = async (context) => {
  const { out, say } = context;
  const warehouse = await existing(context);
  const streams = warehouse === undefined ? [] : await streamStates(warehouse.db);
  const last = warehouse === undefined ? [] : await recentRuns(warehouse.db);
  const now = new Date();
  const text = summaryText(streams, last, now);
  const isOld = streams.some(({ freshness }) => freshness === 'stale' || freshness === 'never');
  if (streams.length === 0)
    say('Run `tidemark init`, fill in .env and run `tidemark sync`, or try `tidemark demo`.');
  const fresh = streams.length > 0 && !isOld;
  return print(context, { sentence: text, fresh, lastRun: last[0] ?? null, streams }, () => [
    out.paint(streams.some(isInTrouble) ? 'yellow' : 'bold', escaped(text)),
    ...attention(streams, last, now),
    ...(streams.length === 0
      ? []
      : [
          '',
          ...table(
            ['stream', 'freshness', 'freshAt', 'lastRun', 'receipt', 'openRejects', 'reason'],
            inOrder(streams).map((each) => ({
              ...named(each),
              lastRun: each.last && `${each.last.runId} ${each.last.status}`,
              receipt: each.last?.receipt ?? null,
              reason: each.freshness === 'fresh' && each.last?.status === 'ok' ? '' : (each.reason ?? ''),
            })),
            out,
          ),
        ]),
  ]);
};

const named = <T extends StreamState>(each: T): T => ({ ...each, stream: `${each.pipeline}.${each.stream}` });

function attention(streams: readonly StreamState[], last: readonly RunLine[], now: Date): readonly string[] {
  const [newest] = last;
  const rejected = streams.reduce((sum, { openRejects }) => sum + openRejects, 0);
  const lines = complaining(last).map(({ runId, error }) => `Run ${runId}: ${escaped(error?.message ?? '')}`);
  if (newest?.status === 'running' && newest.alive === false)
    lines.push(
      `Run ${newest.runId}, started ${relative(newest.startedAt, now)}, lost its process; the next run continues it.`,
    );
  if (rejected > 0)
    lines.push(`${plural(rejected, 'record')} could not become rows: \`tidemark rejects list\`.`);
  return lines;
}

/** The streams with their tables, or one of them in detail. */
export const streams: Verb<{ readonly name?: string }> = async (context, { name }) => {
  const { db } = await filled(context);
  if (name !== undefined) return detail(context, db, await knownStream(db, name));
  const all = await Promise.all(
    (await streamStates(db)).map(async (each) => ({ ...each, rows: await rowsOf(db, each) })),
  );
  const keys = ['stream', 'freshness', 'target', 'rows', 'watermark', 'endpoint', 'about'] as const;
  return print(context, { streams: all }, () => table(keys, all.map(named), context.out));
};

async function rowsOf(db: Db, { target }: StreamState, exactly = false): Promise<RowCount | null> {
  const name = tableName(target);
  return name === undefined ? null : ((await rowCount(db, name, exactly)) ?? null);
}

async function detail(context: Context, db: Db, stream: StreamState): Promise<number> {
  const { out } = context;
  const target = tableName(stream.target);
  const shape = target === undefined ? [] : await columns(db, target);
  const last = await receipts(db, stream.pipeline, stream.stream, 10);
  const all = { ...stream, rows: await rowsOf(db, stream, true) };
  const keys = [
    'freshness',
    'reason',
    'freshAt',
    'watermark',
    'fullAt',
    'promiseSeconds',
    'endpoint',
    'target',
  ];
  const rows = shape.map((each) => ({ ...each, column: each.key ? `${each.column} *` : each.column }));
  return print(context, { ...all, columns: shape, receipts: last }, () => [
    out.paint('bold', `${stream.pipeline}.${stream.stream}: ${stream.about}`),
    ...facts({ ...all, reason: stream.reason ?? undefined }, out, [...keys, 'rows', 'openRejects']),
    '',
    ...table(['column', 'type', 'comment'], rows, out),
    '',
    ...table(['runId', 'kind', 'status', 'finishedAt', 'seconds', 'receipt', 'counts', 'reason'], last, out),
  ]);
}
