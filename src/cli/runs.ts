/** `runs` and `logs`: the runs of the past, and the logs of those that `serve` ran. */
import { Misconfigured } from '../core/errors.ts';
import { duration, escaped } from '../core/format.ts';
import { runs as listRuns, type RunDetail, requestOfRun, run } from '../queries/run-history.ts';
import type { Context, Verb } from './context.ts';
import { facts, print, table } from './output.ts';
import { knownPipeline } from './pipelines.ts';
import { filled } from './schema.ts';

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
    return print(context, found, () => detail(context, found));
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

function detail({ out }: Context, found: RunDetail): readonly string[] {
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
