/** Verbs that read the warehouse: `status`, `streams`, `runs`, `logs` and `why`. */
import { Misconfigured } from '../core/errors.ts';
import { duration, escaped, minute, plural, relative } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import { type Lineage, lineage, syncedTable } from '../queries/lineage.ts';
import {
  complaining,
  runs as listRuns,
  type RunDetail,
  type RunLine,
  recentRuns,
  requestOfRun,
  run,
} from '../queries/run-history.ts';
import { columns, type RowCount, receipts, rowCount, tableName } from '../queries/stream-history.ts';
import { inOrder, isInTrouble, summaryText } from '../queries/summary-text.ts';
import type { Context, Verb } from './context.ts';
import { exit } from './exit.ts';
import { facts, print, table, toJson } from './output.ts';
import { knownPipeline, knownStream } from './pipelines.ts';
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
  if (name !== undefined) return streamDetail(context, db, await knownStream(db, name));
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

async function streamDetail(context: Context, db: Db, stream: StreamState): Promise<number> {
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

/** The last runs, or one of them in detail. */
export const runs: Verb<{
  readonly id?: string;
  readonly limit: number;
  readonly pipeline?: string;
}> = async (context, { id, limit, pipeline }) => {
  if (pipeline !== undefined) knownPipeline(pipeline);
  const { db } = await filled(context);
  if (id !== undefined) {
    const found = isNumber(id) ? await run(db, id) : undefined;
    if (found === undefined) throw new Misconfigured(`there is no run ${id}; \`tidemark runs\` lists them`);
    return print(context, found, () => runDetail(context, found));
  }
  const found = await listRuns(db, { pipeline, limit });
  // `running?`: its process is gone.
  const rows = found.map((each) => ({ ...each, status: each.alive === false ? 'running?' : each.status }));
  const keys = ['runId', 'pipeline', 'kind', 'status', 'startedAt', 'seconds', 'counts', 'error'] as const;
  return print(context, { runs: found }, () =>
    found.length > 0
      ? table(keys, rows, context.out)
      : [pipeline === undefined ? 'No run yet.' : `No run of ${pipeline} yet.`],
  );
};

const isNumber = (id: string): boolean => /^\d{1,18}$/.test(id);

function runDetail({ out }: Context, found: RunDetail): readonly string[] {
  const { streams, badSlices, handoffs, throttledMs } = found;
  const section = (title: string, lines: readonly string[]) => ['', out.paint('bold', title), ...lines];
  const waited = throttledMs < 50 ? undefined : `${duration(throttledMs / 1000)} for the rate limit`;
  const keys = [
    'status',
    'startedAt',
    'trigger',
    'seconds',
    'requests',
    'retries',
    'waited',
    'params',
    'appVersion',
  ];
  const slices = badSlices.map((each) => ({ ...each, receipt: each.fetched === null ? null : each }));
  return [
    out.paint('bold', `Run ${found.runId}: ${found.pipeline} ${found.kind}`),
    ...facts({ ...found, waited, error: found.error ?? undefined }, out, [...keys, 'error']),
    ...(found.alive === false ? [out.paint('red', 'Its process is gone: the next run continues it.')] : []),
    ...section(
      'Streams',
      table(['stream', 'status', 'slices', 'receipt', 'counts', 'seconds', 'reason'], streams, out),
    ),
    ...(slices.length > 0
      ? section(
          'Slices that are not done (the next run reads them again)',
          table(['stream', 'partition', 'from', 'to', 'status', 'receipt', 'error'], slices, out),
        )
      : []),
    ...(handoffs.length > 0
      ? section(
          'Hand-offs',
          table(['dag', 'dagRunId', 'status', 'engineStatus', 'changedAt', 'params', 'error'], handoffs, out),
        )
      : []),
  ];
}

/** The log of a request to `serve`: by its id or the number of its run; without an id, of the newest. */
export const logs: Verb<{ readonly id?: string; readonly limit: number }> = async (
  context,
  { id, limit },
) => {
  const { db, pool } = await filled(context);
  const { readLog } = await import('../scheduler/request-log.ts');
  const newest = 'select dag_run_id as id from ops.run_log order by at desc, seq desc limit 1';
  const request =
    id === undefined
      ? (await pool.query<{ id: string }>(newest)).rows[0]?.id
      : ((isNumber(id) ? await requestOfRun(db, id) : undefined)?.runId ?? id);
  const lines = request === undefined ? [] : await readLog(db, request, { tail: limit });
  if (lines.length === 0 && id !== undefined)
    throw new Misconfigured(`there is no log of ${id}: only runs of \`tidemark serve\` are logged`);
  return print(context, { request: request ?? null, lines }, () =>
    lines.length === 0
      ? ['No log yet: only runs of `tidemark serve` are logged.']
      : lines.map(({ at, level, message }) => `${at.toISOString()} ${level} ${escaped(message)}`),
  );
};

/** By id, key or former key. Exit code 1 if there is no such row. */
export const why: Verb<{ readonly table: string; readonly key: string }> = async (
  context,
  { table: name, key },
) => {
  const { db } = await filled(context);
  const target = await syncedTable(db, name);
  if (target === undefined)
    throw new Misconfigured(
      `there is no synced table “${name}”; write it as tracker.issues (\`tidemark streams\` lists the tables)`,
    );
  const found = await lineage(db, target, key);
  if (found !== undefined) return print(context, found, () => lineageLines(context, found));
  const full = `${target.schema}.${target.name}`;
  print(context, { table: full, key, row: null }, () => [escaped(`${full} has no row with key “${key}”`)]);
  return exit.failed;
};

function lineageLines({ out }: Context, found: Lineage): readonly string[] {
  const { row, run, source, slice, foundByFormerKey, formerKeys, deletedAt } = found;
  const room = Math.max(40, (out.columns ?? 140) - 32);
  const values = Object.entries(row)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, cut(typeof value === 'object' ? toJson(value) : String(value), room)]);
  const children = found.children.filter(({ rows }) => rows > 0);
  const origin = {
    'written by': run
      ? `run ${run.runId} (${run.kind}, ${run.status}), ${minute(run.startedAt)} UTC`
      : 'a run that is no longer on record',
    stream: source ? `${source.name}.${source.stream}` : null,
    'read from': source ? `${source.endpoint} of ${source.baseUrl}` : null,
    'former keys': formerKeys.length === 0 ? undefined : formerKeys.join(', '),
  };
  return [
    out.paint('bold', escaped(`${found.table} ${row.key ?? row.name ?? row.id ?? ''}`)),
    ...(foundByFormerKey === null ? [] : [`${escaped(foundByFormerKey)} is a former key of it.`]),
    ...(deletedAt === null
      ? []
      : [out.paint('yellow', `Deleted at the source: marked ${minute(new Date(deletedAt))} UTC.`)]),
    '',
    ...facts(Object.fromEntries(values), out),
    '',
    ...facts(origin, out),
    ...(slice
      ? facts({ ...slice, receipt: slice.fetched === null ? null : slice }, out, [...sliceKeys])
      : []),
    ...(children.length > 0 ? ['', ...table(['table', 'rows'], children, out)] : []),
    ...(found.rejects.length > 0
      ? ['', ...table(['rejectId', 'status', 'code', 'lastSeenAt', 'message'], found.rejects, out)]
      : []),
  ];
}

/** The part of the source that the run read. */
const sliceKeys = ['partition', 'field', 'from', 'to', 'walk', 'receipt'] as const;

/** At most this many characters. */
export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;
