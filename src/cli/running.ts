/** What sync, backfill and reconcile have in common: parts brought up, progress told, the outcome summed up in one exit code. */
import type { Observe, RunReport } from '../core/run.ts';
import { hours } from '../core/time.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import type { Context } from './context.ts';
import { causes, codeOfAll, codeOfError, codeOfReport, said } from './exit.ts';
import type { Chosen } from './named-streams.ts';
import { ownersNeverLoaded } from './never-loaded.ts';
import { outboundOf, untold } from './outbound.ts';
import { progress } from './progress/choose.ts';
import { toJson } from './progress/json.ts';
import type { Progress } from './progress/types.ts';
import { summary } from './report.ts';
import { current } from './schema.ts';
import { settingsOf } from './settings.ts';
import { escaped, withoutSecrets } from './text.ts';
import { withWaiting } from './waiting.ts';

/** What is done with a pipeline; `streams`: those that were named, if any were. */
type Work = (deps: RunDeps, streams: { readonly streams?: readonly string[] }) => Promise<RunReport>;

/** Runs each pipeline in turn: a broken one does not keep the others from theirs. Gives the exit code of all together. */
export async function runAll(context: Context, chosen: readonly Chosen[], work: Work): Promise<number> {
  const codes: number[] = [];
  for (const each of chosen) {
    const { pipeline } = each;
    try {
      codes.push(await runOne(context, each, work));
    } catch (error) {
      if (context.signal.aborted) throw error;
      const exitCode = codeOfError(error, context.received());
      context.err.line(
        `${context.err.paint('red', 'tidemark')}: ${ofPipeline(pipeline, said(error).message)}`,
      );
      if (context.verbose) for (const line of causes(error)) context.err.line(`  ${line}`);
      if (context.json) context.out.line(toJson({ type: 'error', pipeline, error: said(error), exitCode }));
      codes.push(exitCode);
    }
    if (context.signal.aborted) break;
  }
  return codeOfAll(codes, chosen.length, context.received());
}

/** The message with the pipeline before it, where it does not begin with it. */
export const ofPipeline = (pipeline: string, message: string): string =>
  message.startsWith(`${pipeline}:`) || message.startsWith(`${pipeline}.`)
    ? message
    : `${pipeline}: ${message}`;

/** One pipeline, with its progress and its summary; gives its exit code. Throws what ended it before it was a run. */
async function runOne(context: Context, { pipeline, streams }: Chosen, work: Work): Promise<number> {
  const told = progress(context);
  let ended: RunReport | undefined;
  let deps: RunDeps | undefined;
  try {
    deps = await runDeps(context, pipeline, told);
    const { observe: shown } = deps;
    const observe: Observe = (event) => {
      if (event.type === 'run.finished') ended = event.report;
      shown(event);
    };
    for (const message of streams === undefined ? [] : await ownersNeverLoaded(deps, streams))
      observe({ type: 'note', pipeline, level: 'warn', message });
    const report = await work({ ...deps, observe }, streams === undefined ? {} : { streams });
    told.end();
    conclude(context, report);
    await tellOutside(context, deps, report);
    return codeOfReport(report, context.received());
  } catch (error) {
    told.end();
    // The run has said itself what became of it; its last word stays the last.
    if (ended === undefined) throw error;
    conclude(context, ended);
    if (deps !== undefined) await tellOutside(context, deps, ended);
    if (context.verbose) for (const line of causes(error)) context.err.line(`  ${line}`);
    return codeOfError(error, context.received());
  }
}

/** Who wants to know is told; that this fails must not make a good run a bad one. */
async function tellOutside(context: Context, deps: RunDeps, report: RunReport): Promise<void> {
  const { afterRun } = await import('../outbound/outbound.ts');
  const config = await context.parts.config();
  try {
    await afterRun(outboundOf(deps.warehouse, config), report, context.signal);
  } catch (error) {
    const what = untold(`run ${report.runId}`, context.signal);
    context.err.line(
      `${context.err.paint('yellow', 'warning')}: ${report.pipeline}: ${what}: ${said(error).message}`,
    );
  }
}

function conclude(context: Context, report: RunReport): void {
  const { out, err } = context;
  if (!context.json && (!context.quiet || report.status !== 'succeeded'))
    for (const line of summary(report, out)) out.line(line);
  if (report.error !== undefined && (report.status === 'failed' || report.status === 'lost'))
    err.line(
      `${err.paint('red', 'tidemark')}: ${report.pipeline}: ${escaped(withoutSecrets(report.error.message))}`,
    );
}

/** What the engine is given for a pipeline. The first word comes before anything slow. */
export async function runDeps(context: Context, pipeline: string, shown: Progress): Promise<RunDeps> {
  shown.say(`${pipeline}: opening the warehouse`);
  const config = await context.parts.config();
  const settings = settingsOf(config, pipeline);
  const logged =
    context.logLevel === undefined ? undefined : await (await import('./log.ts')).log(context.logLevel);
  const told = withWaiting((event) => {
    shown.observe(event);
    logged?.(event);
  });
  const source = await context.parts.source(pipeline, told);
  return {
    warehouse: await current(context, shown.say),
    source,
    observe: told.observe,
    signal: context.signal,
    version: context.version,
    trigger: 'manual',
    deadlineMs: hours(config.runHours),
    ...settings,
  };
}
