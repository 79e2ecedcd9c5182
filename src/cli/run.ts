/**
 * `sync`, `backfill`, `reconcile` and `rejects replay` of the chosen pipelines, or with `--dry-run` their plan.
 */
import crypto from 'node:crypto';
import pLimit from 'p-limit';
import { parseInstant } from '../config/values.ts';
import { clean } from '../core/describe-error.ts';
import { Misconfigured } from '../core/errors.ts';
import { duration, escaped, plural } from '../core/format.ts';
import type { RunReport, RunStatus } from '../core/run.ts';
import { countRejects, rejects } from '../queries/reject-list.ts';
import { outcome, receiptText } from '../queries/summary-text.ts';
import { notifyAfter, outboundOf } from '../runs/after.ts';
import type { Ask } from '../runs/ask.ts';
import { lender } from '../runs/assemble.ts';
import { nextPart } from '../runs/nightly.ts';
import * as lookup from '../runs/pipelines.ts';
import { execute, planOf, withDeps } from '../runs/run.ts';
import { longestFirst } from '../runs/waiting.ts';
import type { Context, Sink, Verb } from './context.ts';
import { codeOfError, codeOfReport, combined, complain, exit, report } from './exit.ts';
import { type OutputBlock, print, styleOf, toJson } from './output.ts';
import { openProgress, openTalk, type ProgressOutput } from './progress.ts';

interface RunFlags {
  readonly stream?: readonly string[];
  readonly dryRun?: boolean;
  readonly jobs?: number;
}

/** Reads what changed; `full`: everything anew. */
export const sync: Verb<RunFlags & { pipeline: readonly string[]; full?: boolean }> = (context, options) =>
  runAsks(context, options.pipeline, options, { does: options.full ? 'full' : 'sync' });

/** Reads the half-open window [from, to) anew; moves no watermark. */
export const backfill: Verb<RunFlags & Record<'pipeline' | 'from' | 'to', string>> = (context, options) => {
  const { pipeline, from, to } = options;
  const window = { from: dateOf(from, '--from'), to: dateOf(to, '--to') };
  if (window.from >= window.to)
    throw new Misconfigured(`--from ${from} is not before --to ${to}: the window is half open, [from, to)`);
  if (window.from > new Date())
    throw new Misconfigured(`--from ${from} lies in the future: there is nothing to read`);
  return runAsks(context, [pipeline], options, { does: 'backfill', window });
};

/** Reads all ids; marks and un-marks deletions. */
export const reconcile: Verb<RunFlags & { pipeline: string }> = (context, options) =>
  runAsks(context, [options.pipeline], options, { does: 'reconcile' });

async function runAsks(
  context: Context,
  pipelines: readonly string[],
  { stream, dryRun, jobs }: RunFlags,
  what: Pick<Ask, 'does' | 'window'>,
): Promise<number> {
  const chosen = (await lookup.choose(context, pipelines, stream)).map((each) => ({ ...each, ...what }));
  const { parts, warn } = context;
  const config = await parts.config();
  // Without names it is a night: what waited longest goes first, reconciles that are due follow, and what follows the whole.
  const isNight = pipelines.length === 0 && stream === undefined;
  const next = isNight ? async (ask: Ask) => nextPart(await parts.warehouse(), config, ask) : undefined;
  const shared = chosen.length > 1 ? await lookup.current(context) : undefined;
  const asks = shared && isNight ? await longestFirst(shared.db, chosen) : chosen;
  if (dryRun) return showPlan(context, asks, next);
  const lend = shared && lender(parts, config, shared);
  const run = (ask: Ask, progress: ProgressOutput): Promise<number> =>
    lend?.((own) => runOne({ ...context, parts: { ...parts, warehouse: async () => own } }, ask, progress)) ??
    runOne(context, ask, progress);
  const { code, whole } = await runEach(context, asks, { run, next, jobs: jobs ?? config.server.jobs });
  const names = lookup.partsOfNightly(config);
  if (!isNight || names.length === 0 || !names.every((name) => whole.includes(name))) return code;
  const ask = { ...what, pipeline: config.nightly.name };
  const night = { id: `${ask.pipeline}-${ask.does}-${crypto.randomUUID()}`, ask, status: 'succeeded' };
  await notifyAfter(context, outboundOf(await parts.warehouse(), config), night, warn);
  return code;
}

/** Puts open rejects through transform and load anew. Exit code 3 if some are still rejected. */
export const replay: Verb<{ id?: string; stream?: string; pipeline?: string }> = async (context, options) => {
  const { id, stream: named, pipeline } = options;
  const rejectId = id !== undefined && /^\d{1,18}$/.test(id) ? id : '0';
  const [one] =
    id === undefined ? [] : await rejects((await lookup.filled(context)).db, { rejectId, limit: 1 });
  const wanted = id === undefined ? pipeline : one?.pipeline;
  if (id !== undefined && (one === undefined || (pipeline ?? wanted) !== wanted))
    throw new Misconfigured(`there is no open reject ${id} · \`tidemark rejects list\` shows them`);
  const chosen = await lookup.choose(context, wanted ? [wanted] : [], named ? [named] : []);
  const run = async ({ pipeline, streams: [stream] = [] }: lookup.Chosen, progress: ProgressOutput) => {
    const { replayRejects } = await import('../engine/replay.ts');
    const { replayed, stillRejected, large } = await withDeps(context, pipeline, progress, async (deps) => ({
      ...(await replayRejects(deps, { ...(stream && { stream }), ...(id && { id }) })),
      // Records that were too large to be kept whole cannot be replayed.
      large: await countRejects(deps.warehouse.db, { pipeline, stream, rejectId: id, isCut: true }),
    }));
    const left = stillRejected + large;
    const hint = ` (${large} too large to be kept whole: only a good version from the source resolves that)`;
    const line = `${pipeline}: ${plural(replayed, 'record')} stored, ${plural(left, 'record')} still rejected${large === 0 ? '' : hint}.`;
    const data = { type: 'replayed', pipeline, replayed, stillRejected: left };
    progress.aside(() => context.out.line(context.json ? toJson(data) : line));
    return left > 0 ? exit.partly : exit.ok;
  };
  return (await runEach(context, chosen, { run })).code;
};

/** An instant from a flag. Throws Misconfigured. */
export function dateOf(text: string, flag: string): Date {
  const date = parseInstant(text.trim());
  if (date !== undefined) return date;
  throw new Misconfigured(
    `${flag}: “${text}” is not a date · write 2024-01-31 (midnight UTC) or 2024-01-31T08:00:00Z`,
  );
}

interface Running<T> {
  readonly run: (each: T, progress: ProgressOutput) => Promise<number>;
  /** What follows it. Default: nothing. */
  readonly next?: ((each: T) => Promise<T | undefined>) | undefined;
  /** How many at once; default 1. */
  readonly jobs?: number;
}

/**
 * Runs each, and what follows it; of one site as many at once as `TIDEMARK_JOBS_PER_SITE` says. A pipeline that fails does not keep the others
 * from running. `code`: the exit code of all together; `whole`: names of the pipelines whose runs all succeeded.
 */
async function runEach<T extends lookup.Chosen>(
  context: Context,
  chosen: readonly T[],
  { run, next, jobs = 1 }: Running<T>,
) {
  const { signal, received, parts, version } = context;
  const config = await parts.config();
  const progress = await openProgress(context, { config });
  const limit = pLimit(jobs);
  // Of a source that cannot be opened its run says why.
  const streamsOf = ({ pipeline }: T) => lookup.streamsOf(pipeline, config, version).catch(() => []);
  const sites = (await Promise.all(chosen.map(streamsOf))).map(([stream]) => stream?.site);
  const places = new Map(sites.map((site) => [site, pLimit(config.server.jobsPerSite)]));
  /** Undefined: a signal kept it from beginning. */
  const codesOf = async (each: T): Promise<readonly (number | undefined)[]> => {
    if (signal.aborted) return [undefined];
    try {
      const code = await run(each, progress);
      const following = await next?.(each);
      return following === undefined ? [code] : [code, ...(await codesOf(following))];
    } catch (error) {
      if (signal.aborted) throw error;
      return [progress.aside(() => report(error, context, received(), each.pipeline))];
    }
  };
  // A pipeline that waits for a place of its site holds none of the others.
  const running = chosen.map((each, at) => (places.get(sites[at]) ?? pLimit(1))(() => limit(codesOf, each)));
  await Promise.allSettled(running);
  progress.end();
  const codes = await Promise.all(running);
  const known = codes.flat().filter((code) => code !== undefined);
  const isWhole = (at: number) => codes[at]?.every((code) => code === exit.ok);
  return {
    code: combined(known, codes.flat().includes(undefined) ? received() : undefined),
    whole: chosen.filter((_, at) => isWhole(at)).map(({ pipeline }) => pipeline),
  };
}

/** Throws what ended it before it was a run. */
async function runOne(context: Context, ask: Ask, progress: ProgressOutput): Promise<number> {
  const { parts, out, json, quiet, received, warn } = context;
  const { report, failure } = await withDeps(context, ask.pipeline, progress, (deps) => execute(ask, deps));
  const { pipeline, status, error } = report;
  progress.aside(() => {
    // With --json the report is in the last event.
    if (!json && (!quiet || status !== 'succeeded')) print(context, undefined, summary(report, out));
    if (error !== undefined && (status === 'failed' || status === 'lost'))
      complain(context, failure, { ...error, message: clean(error.message) }, pipeline);
  });
  await notifyAfter(context, outboundOf(await parts.warehouse(), await parts.config()), report, warn);
  return failure === undefined ? codeOfReport(report, received()) : codeOfError(failure, received());
}

const headlines: Partial<Record<RunStatus, string>> = {
  succeeded: 'complete',
  interrupted: 'stopped; the next run continues from here',
};

/** The summary: one sentence if all is well, and the reasons if not. */
function summary(report: RunReport, { paint }: Pick<Sink, 'paint'>): readonly OutputBlock[] {
  const { pipeline, status, streams, runId, counts, seconds, requests, retries } = report;
  const headline = paint(styleOf(status), `${headlines[status] ?? status.replaceAll('_', ' ')}.`);
  const named = (wanted: string) => streams.filter((each) => each.status === wanted);
  const absent = named('unavailable').map(({ stream }) => stream);
  const complete = named('ok').length;
  const isWhole = status === 'succeeded' && complete > 0;
  const matching = isWhole ? ` Receipts match for ${plural(complete, 'stream')}.` : '';
  const run = `run ${runId}, ${duration(seconds)}, ${plural(requests, 'request')}, ${plural(retries, 'retry', 'retries')}`;
  const isFine = ['unavailable', 'skipped', 'interrupted'];
  return [
    `${paint('bold', pipeline)}: ${headline} ${outcomeOf(report)}.${matching} (${run})`,
    absent.length > 0 && `  The source has no ${absent.join(', ')}; see \`tidemark streams\`.`,
    ...streams.flatMap(({ stream, status, receipt, reason = '' }) => {
      if (isFine.includes(status) || reason === '') return [];
      const numbers = status === 'partial' ? ` (${receiptText(receipt)})` : '';
      return [`  ${paint('yellow', stream)}: ${status}${numbers}: ${escaped(reason)}`];
    }),
    counts.rejected > 0 && '  What was rejected, and why: `tidemark rejects list`.',
    status === 'partly_failed' &&
      `  Details: \`tidemark runs ${runId}\`. The next sync reads the missing parts again.`,
  ];
}

/** What a run came to in all. */
export function outcomeOf(report: RunReport): string {
  const read = report.streams.reduce((sum, { receipt }) => sum + receipt.read, 0);
  return outcome({ ...report, receipt: { read } });
}

/** Prints what runs would read, and the reconciles that would follow them. */
async function showPlan(context: Context, asks: readonly Ask[], next: Running<Ask>['next']): Promise<number> {
  const plans = [];
  for (const ask of asks) {
    const { pipeline } = ask;
    const progress = await openTalk(context);
    const planned = withDeps(context, pipeline, progress, (deps) => planOf(ask, deps));
    const streams = await planned.finally(progress.end);
    plans.push({ pipeline, streams, followedBy: (await next?.(ask))?.does ?? null });
  }
  const rows = plans.flatMap(({ pipeline, streams }) => streams.map((each) => ({ ...each, pipeline })));
  const reasons = rows.flatMap(({ pipeline, stream, why }) =>
    why === undefined ? [] : [`${pipeline}.${stream}: everything is read again: ${why}`],
  );
  const following = plans.flatMap(({ pipeline, followedBy }) =>
    followedBy ? [`${pipeline}: its ${followedBy} is due and would follow`] : [],
  );
  const keys = 'pipeline.stream mode from to slices records requests seconds';
  return print(context, { plan: plans }, [{ rows, keys }, ...reasons, ...following]);
}
