/** `sync`, `backfill` and `reconcile`: each chosen pipeline in turn, or with `--dry-run` their plan. */
import { parseInstant } from '../config/values.ts';
import { Misconfigured } from '../core/errors.ts';
import { escaped, withoutSecrets } from '../core/format.ts';
import type { Observe, RunReport } from '../core/run.ts';
import { nameOf } from '../core/table.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { PlannedStream } from '../engine/preview.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { streamStates } from '../queries/freshness.ts';
import type { Context, Verb } from './context.ts';
import { causes, codeOfAll, codeOfError, codeOfReport, describe } from './exit.ts';
import { print, table, toJson } from './output.ts';
import { checkReconcile } from './pipelines.ts';
import { openProgress } from './progress.ts';
import { type Chosen, choose, notifyAfter, outboundOf, withDeps } from './sources.ts';
import { ofPipeline, summary } from './summary.ts';

interface RunOptions {
  readonly stream?: readonly string[];
  readonly dryRun?: boolean;
}

/** Reads what changed; `full`: everything again. */
export const sync: Verb<
  RunOptions & { readonly pipeline: readonly string[]; readonly full?: boolean }
> = async (context, { pipeline, stream, full = false, dryRun }) => {
  const chosen = await choose(context, pipeline, stream);
  if (dryRun) return showPlan(context, chosen, { full });
  const { sync } = await import('../engine/sync.ts');
  return runEach(context, chosen, (deps, streams) => sync(deps, { full, ...streams }));
};

/** Reads the half-open window [from, to) again; moves no watermark. */
export const backfill: Verb<
  RunOptions & { readonly pipeline: string; readonly from: string; readonly to: string }
> = async (context, { pipeline, from, to, stream, dryRun }) => {
  const window = { from: dateOf(from, '--from'), to: dateOf(to, '--to') };
  if (window.from >= window.to)
    throw new Misconfigured(`--from ${from} is not before --to ${to}: the window is half open, [from, to)`);
  if (window.from > new Date())
    throw new Misconfigured(`--from ${from} lies in the future: there is nothing to read`);
  const chosen = await choose(context, [pipeline], stream);
  if (dryRun) return showPlan(context, chosen, { window });
  const { backfill } = await import('../engine/sync.ts');
  return runEach(context, chosen, (deps, streams) => backfill(deps, { ...window, ...streams }));
};

/** Reads all ids; marks and un-marks deletions. */
export const reconcile: Verb<RunOptions & { readonly pipeline: string }> = async (
  context,
  { pipeline, stream },
) => {
  const chosen = await choose(context, [pipeline], stream);
  checkReconcile(pipeline);
  const { reconcile } = await import('../engine/reconcile/reconcile.ts');
  return runEach(context, chosen, reconcile);
};

/** An instant from a flag. Throws Misconfigured. */
export function dateOf(text: string, flag: string): Date {
  const date = parseInstant(text.trim());
  if (date !== undefined) return date;
  throw new Misconfigured(
    `${flag}: “${text}” is not a date; write 2024-01-31 (midnight UTC) or 2024-01-31T08:00:00Z`,
  );
}

/** `line`: printed in place of a summary. */
interface Result {
  readonly exitCode: number;
  readonly data: object;
  readonly line: string;
}

type Work = (deps: RunDeps, streams: { readonly streams?: readonly string[] }) => Promise<RunReport | Result>;

/** A pipeline that fails does not keep the others from running. Returns the exit code of all together. */
export async function runEach(context: Context, chosen: readonly Chosen[], work: Work): Promise<number> {
  const { err } = context;
  const codes: number[] = [];
  for (const each of chosen) {
    if (context.signal.aborted) break;
    try {
      codes.push(await runOne(context, each, work));
    } catch (error) {
      if (context.signal.aborted) throw error;
      const exitCode = codeOfError(error, context.received());
      const { pipeline } = each;
      const failure = describe(error);
      err.line(`${err.paint('red', 'tidemark')}: ${ofPipeline(pipeline, failure.message)}`);
      if (context.verbose) for (const line of causes(error)) err.line(`  ${line}`);
      if (context.json) context.out.line(toJson({ type: 'error', pipeline, error: failure, exitCode }));
      codes.push(exitCode);
    }
  }
  return codeOfAll(codes, chosen.length, context.received());
}

/** Throws what ended it before it was a run. */
async function runOne(context: Context, { pipeline, streams }: Chosen, work: Work): Promise<number> {
  const config = await context.parts.config();
  const progress = await openProgress(context, { config });
  let ended: RunReport | undefined;
  const observe: Observe = (event) => {
    if (event.type === 'run.finished') ended = event.report;
    progress.observe(event);
  };
  let failure: unknown;
  let outbound: Outbound | undefined;
  let result: Result | undefined;
  try {
    await withDeps(context, pipeline, { ...progress, observe }, async (deps) => {
      outbound = outboundOf(deps.warehouse, config);
      if (streams !== undefined) await warnOfMissingParents(deps, streams);
      const done = await work(deps, streams === undefined ? {} : { streams });
      if ('line' in done) result = done;
      else ended = done;
    });
  } catch (error) {
    failure = error;
  } finally {
    progress.end();
  }
  if (result !== undefined) {
    context.out.line(context.json ? toJson(result.data) : result.line);
    return result.exitCode;
  }
  if (ended === undefined || outbound === undefined) throw failure;
  conclude(context, ended);
  await notifyAfter(context.signal, outbound, ended, (text) =>
    context.err.line(`${context.err.paint('yellow', 'warning')}: ${text}`),
  );
  if (failure === undefined) return codeOfReport(ended, context.received());
  if (context.verbose) for (const line of causes(failure)) context.err.line(`  ${line}`);
  return codeOfError(failure, context.received());
}

function conclude({ out, err, json, quiet }: Context, report: RunReport): void {
  const { status, pipeline, error } = report;
  if (!json && (!quiet || status !== 'succeeded')) for (const line of summary(report, out)) out.line(line);
  if (error !== undefined && (status === 'failed' || status === 'lost'))
    err.line(`${err.paint('red', 'tidemark')}: ${pipeline}: ${escaped(withoutSecrets(error.message))}`);
}

/** A stream that is read for each row of another table finds nothing where that table was never loaded. */
async function warnOfMissingParents(
  { warehouse, source, observe }: RunDeps,
  streams: readonly string[],
): Promise<void> {
  const states = await streamStates(warehouse.db);
  const isLoaded = (stream: string): boolean =>
    states.some((each) => each.pipeline === source.name && each.stream === stream && each.freshAt !== null);
  for (const { name, partitions } of source.streams.filter((each) => streams.includes(each.name))) {
    const parentStreams = source.streams.filter(({ table }) => nameOf(table) === partitions?.table);
    const names = parentStreams.map((each) => each.name);
    if (names.length === 0 || names.some((each) => streams.includes(each) || isLoaded(each))) continue;
    const message = `${name} is read for each row of ${partitions?.table}, which was never loaded: run \`tidemark sync ${source.name} --stream ${names.join(',')},${name}\``;
    observe({ type: 'note', pipeline: source.name, level: 'warn', message });
  }
}

/** Prints what a run would read. Asks the source only for counts; writes no rows. */
async function showPlan(
  context: Context,
  chosen: readonly Chosen[],
  options: { readonly full?: boolean; readonly window?: { readonly from: Date; readonly to: Date } },
): Promise<number> {
  const progress = await openProgress({ ...context, quiet: context.quiet || context.json, json: false });
  const plans: { readonly pipeline: string; readonly streams: readonly PlannedStream[] }[] = [];
  try {
    const { plan } = await import('../engine/preview.ts');
    for (const { pipeline, streams } of chosen) {
      const some = { ...options, ...(streams && { streams }) };
      const planned = await withDeps(context, pipeline, progress, (deps) => plan(deps, some));
      plans.push({ pipeline, streams: planned });
    }
  } finally {
    progress.end();
  }
  const rows = plans.flatMap(({ pipeline, streams }) => streams.map((each) => ({ ...each, pipeline })));
  const keys = ['stream', 'mode', 'from', 'to', 'slices', 'records', 'requests'] as const;
  const named = rows.map((each) => ({ ...each, stream: `${each.pipeline}.${each.stream}` }));
  return print(context, { plan: plans }, () => [
    ...table(keys, named, context.out),
    ...named.flatMap(({ stream, why }) =>
      why === undefined ? [] : [`${stream}: everything is read again: ${why}`],
    ),
  ]);
}
