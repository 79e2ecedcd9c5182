/** Verbs that read the warehouse: `status`, `streams`, `runs`, `logs`, `rejects list` and `why`. */
import { Misconfigured } from '../core/errors.ts';
import { duration, escaped, minute, plural } from '../core/format.ts';
import type { Db } from '../queries/db.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import { type Lineage, lineage, syncedTable } from '../queries/lineage.ts';
import { rejects } from '../queries/reject-list.ts';
import * as history from '../queries/run-history.ts';
import { columns, receipts, rowCount, tableName } from '../queries/stream-history.ts';
import { inOrder, known, summary } from '../queries/summary-text.ts';
import { configured, filled, type Pipeline, pipelineOf, streamNamed } from '../runs/pipelines.ts';
import type { Context, Verb } from './context.ts';
import { exit } from './exit.ts';
import { cut, type OutputBlock, print } from './output.ts';

/** One sentence, what to do, and every stream with its age; of one pipeline also its last runs and its next ones. Ends with 0 also where streams are stale. */
export const status: Verb<{ pipeline?: string }> = async (context, { pipeline }) => {
  const { out, parts } = context;
  const config = await parts.config();
  const one = pipeline === undefined ? undefined : pipelineOf(config, pipeline);
  const { db } = await filled(context);
  const names = one === undefined ? configured(config).map(({ name }) => name) : [one.name];
  const state = await known(db, names, pipeline);
  const { streams, last } = state;
  const { tone, lead, rest } = summary(state, new Date());
  const sentence = `${lead} ${rest}`;
  const old = streams.filter(({ freshness }) => freshness === 'stale' || freshness === 'never');
  const fresh = streams.length > 0 && old.length === 0;
  const rejected = streams.reduce((sum, { openRejects }) => sum + openRejects, 0);
  const nights = one === undefined ? await history.lastNight(db) : [];
  const rows = inOrder(streams).map((each) => ({
    ...each,
    lastRun: each.last && `${each.last.runId} ${each.last.status}`,
    receipt: each.last?.receipt ?? null,
  }));
  const more = one && { runs: await history.runs(db, { pipeline, limit: 5 }), next: await nextRuns(one) };
  const data = { sentence, fresh, lastRun: last[0] ?? null, night: nights[0] ?? null, streams, ...more };
  const stale = [...new Set(old.map((each) => each.pipeline))].join(' ');
  return print(context, data, [
    out.paint(tone === 'warn' ? 'yellow' : 'bold', escaped(sentence)),
    one !== undefined && one.values === undefined && `It is not configured · set ${one.needs}`,
    ...history
      .complaining(last)
      .map(
        ({ runId, error }) => `Run ${runId}: ${escaped(error?.message ?? '')} · \`tidemark runs ${runId}\``,
      ),
    rejected > 0 && `${plural(rejected, 'record')} could not become rows · \`tidemark rejects list\``,
    !fresh &&
      stale !== '' &&
      `${plural(old.length, 'stream')} older than promised · \`tidemark sync ${stale}\``,
    { title: 'Last night', rows: nights, keys: 'runId status parts startedAt seconds timing error' },
    { rows, keys: 'pipeline.stream freshness freshAt lastRun receipt openRejects reason' },
    { title: 'Last runs', rows: more?.runs ?? [], keys: runKeys },
    { title: 'Next runs, of `tidemark serve`', rows: more?.next ?? [], keys: 'does next schedule' },
  ]);
};

const runKeys = 'runId pipeline kind status startedAt seconds counts error';

/** When the pipeline runs next by its schedule. */
async function nextRuns({ jobs }: Pipeline) {
  const { due } = await import('../runs/schedule.ts');
  return jobs.map(({ does, on, within }) => ({
    does,
    next: due(on)(new Date()).next().value,
    schedule: `${on.cron} ${on.timeZone}${within ? `, within ${within}` : ''}`,
  }));
}

/** The streams with their tables, or one of them in detail. */
export const streams: Verb<{ name?: string }> = async (context, { name }) => {
  const warehouse = await filled(context);
  const { db } = warehouse;
  if (name !== undefined) return oneStream(context, db, await streamNamed(warehouse, name));
  const states = await streamStates(db);
  const rows = await Promise.all(states.map(async (each) => ({ ...each, rows: await rowsOf(db, each) })));
  const keys = 'pipeline.stream freshness target rows watermark endpoint about';
  return print(context, { streams: rows }, [{ rows, keys }]);
};

const rowsOf = async (db: Db, { target, pipeline }: StreamState, exactly = false) => {
  const name = tableName(target);
  return name === undefined ? null : ((await rowCount(db, name, pipeline, exactly)) ?? null);
};

async function oneStream(context: Context, db: Db, stream: StreamState): Promise<number> {
  const target = tableName(stream.target);
  const shape = target === undefined ? [] : await columns(db, target);
  const last = await receipts(db, stream.pipeline, stream.stream, 10);
  const all = { ...stream, rows: await rowsOf(db, stream, true) };
  const rows = shape.map((each) => ({ ...each, column: each.key ? `${each.column} *` : each.column }));
  const keys = 'freshness reason freshAt watermark fullAt promiseSeconds endpoint target rows openRejects';
  return print(context, { ...all, columns: shape, receipts: last }, [
    context.out.paint('bold', `${stream.pipeline}.${stream.stream}: ${stream.about}`),
    { fields: all, keys },
    { rows, keys: 'column type comment' },
    { rows: last, keys: 'runId kind status finishedAt seconds receipt counts reason' },
  ]);
}

/** The last runs, one of them in detail, or those of a night. */
export const runs: Verb<{ id?: string; limit: number; pipeline?: string }> = async (context, options) => {
  const { id, limit, pipeline } = options;
  if (pipeline !== undefined) pipelineOf(await context.parts.config(), pipeline);
  const { db } = await filled(context);
  const one = id !== undefined && isNumber(id) ? await history.run(db, id) : undefined;
  if (one !== undefined) return print(context, one, runBlocks(context, one));
  const found = await history.runs(db, { pipeline, night: id, limit });
  if (id !== undefined && found.length === 0)
    throw new Misconfigured(`there is no run ${id} · \`tidemark runs\` lists them`);
  // `running?`: its process is gone.
  const rows = found.map((each) => ({ ...each, status: each.alive === false ? 'running?' : each.status }));
  const none = pipeline === undefined ? 'No run yet.' : `No run of ${pipeline} yet.`;
  return print(context, { runs: found }, [found.length > 0 ? { rows, keys: runKeys } : none]);
};

const isNumber = (id: string): boolean => /^\d{1,18}$/.test(id);

function runBlocks({ out }: Context, found: history.RunDetail): readonly OutputBlock[] {
  const { streams, badSlices, handoffs, throttledMs } = found;
  const waited = throttledMs < 50 ? undefined : `${duration(throttledMs / 1000)} for the rate limit`;
  const fields = { ...found, waited };
  const keys = 'status startedAt trigger seconds requests retries waited params appVersion error';
  const sliceKeys = 'stream partition from to status receipt error';
  return [
    out.paint('bold', `Run ${found.runId}: ${found.pipeline} ${found.kind}`),
    { fields, keys },
    found.alive === false && out.paint('red', 'Its process is gone: the next run continues it.'),
    { title: 'Streams', rows: streams, keys: 'stream status slices receipt counts seconds reason' },
    { title: 'Slices to be read again', rows: badSlices, keys: sliceKeys },
    { title: 'Hand-offs', rows: handoffs, keys: 'dag dagRunId status engineStatus changedAt params error' },
  ];
}

/**
 * The log of a request to `serve`, by its id or the number of its run; without an id, of the newest. A run from a
 * terminal keeps none: what the warehouse knows of it is shown.
 */
export const logs: Verb<{ id?: string; limit: number }> = async (context, { id, limit }) => {
  const { db, pool } = await filled(context);
  const { readLog } = await import('../scheduler/request-log.ts');
  const newest = `select id from (
      (select dag_run_id as id, at from ops.run_log order by at desc, seq desc limit 1)
      union all (select run_id::text, started_at from ops.runs order by run_id desc limit 1)) l
    order by at desc limit 1`;
  const which = id ?? (await pool.query<{ id: string }>(newest)).rows[0]?.id;
  const run = which !== undefined && isNumber(which) ? await history.run(db, which) : undefined;
  const request = (run && (await history.requestOfRun(db, run.runId))?.runId) ?? which;
  const lines = request === undefined ? [] : await readLog(db, request, { tail: limit });
  if (lines.length === 0 && run === undefined && id !== undefined)
    throw new Misconfigured(`there is no log of ${id} · \`tidemark runs\` lists the runs`);
  const none = run ? ['It keeps no log; this is known of it:', ...runBlocks(context, run)] : ['No run yet.'];
  const shown = lines.map(({ at, level, message }) => `${at.toISOString()} ${level} ${escaped(message)}`);
  const known = lines.length === 0 && run !== undefined ? { run } : {};
  return print(context, { request: request ?? null, lines, ...known }, lines.length > 0 ? shown : none);
};

/** Records that could not become rows: the last seen first, each with the beginning of the record. */
export const list: Verb<{ stream?: string; all?: boolean; limit: number }> = async (context, options) => {
  const { stream, all = false, limit } = options;
  const warehouse = await filled(context);
  const one = stream === undefined ? undefined : await streamNamed(warehouse, stream);
  const found = await rejects(warehouse.db, { pipeline: one?.pipeline, stream: one?.stream, all, limit });
  if (found.length === limit) context.say(`Only the newest ${limit}; more with --limit.`);
  const none = `No ${all ? '' : 'open '}rejects${stream === undefined ? '' : ` of ${stream}`}.`;
  const rows = found.map((each) => ({ ...each, record: cut(each.excerpt, 120) }));
  const keys = 'rejectId pipeline.stream recordKey part code field status lastSeenAt attempts message record';
  return print(context, { rejects: found }, [found.length === 0 ? none : { rows, keys }]);
};

/** By id, key or former key. Exit code 1 if there is no such row; Misconfigured if several pipelines have one. */
export const why: Verb<{ table: string; key: string; pipeline?: string }> = async (context, options) => {
  const { table: name, key, pipeline } = options;
  const { db } = await filled(context);
  const target = await syncedTable(db, name);
  if (target === undefined)
    throw new Misconfigured(`there is no synced table “${name}” · \`tidemark streams\` lists them`);
  const table = `${target.schema}.${target.name}`;
  const [one, ...others] = await lineage(db, target, key, pipeline);
  if (one !== undefined && others.length > 0) {
    const names = [one, ...others].map(({ source }) => source?.name).join(', ');
    throw new Misconfigured(`${table} has a row with key “${key}” of each of ${names} · add --pipeline NAME`);
  }
  if (one !== undefined) return print(context, one, lineageBlocks(context, one, key));
  const none = escaped(`${table} has no row with key “${key}”${pipeline ? ` in ${pipeline}` : ''}`);
  return print(context, { table, key, row: null }, [none], exit.failed);
};

function lineageBlocks({ out }: Context, found: Lineage, key: string): readonly OutputBlock[] {
  const { row, run, source, slice, foundByFormerKey, formerKeys, deletedAt } = found;
  const values = Object.entries(row).filter(([, value]) => value !== null);
  const origin = {
    'written by': run
      ? `run ${run.runId} (${run.kind}, ${run.status}), ${minute(run.startedAt)} UTC`
      : 'a run that is no longer on record',
    stream: source ? `${source.name}.${source.stream}` : null,
    'read from': source ? `${source.endpoint} of ${source.baseUrl}` : null,
    'former keys': formerKeys.join(', '),
  };
  return [
    out.paint('bold', escaped(`${found.table} ${row.key ?? row.name ?? row.id ?? key}`)),
    foundByFormerKey !== null && `${escaped(foundByFormerKey)} is a former key of it.`,
    deletedAt !== null && out.paint('yellow', `Deleted at the source: ${minute(new Date(deletedAt))} UTC.`),
    '',
    { fields: Object.fromEntries(values) },
    '',
    { fields: origin },
    { fields: slice ?? {}, keys: 'stream partition field from to walk receipt' },
    { rows: found.children.filter(({ rows }) => rows > 0), keys: 'table rows' },
    { rows: found.rejects, keys: 'rejectId status code lastSeenAt message' },
  ];
}
