import { sql } from 'kysely';
import { Misconfigured } from '../../core/errors.ts';
import type { Db } from '../../run/history/db.ts';
import { type Reject, rejects } from '../../run/history/rejects.ts';
import type { StreamState } from '../../run/history/status.ts';
import type { Context, Verb } from '../context.ts';
import { codeOfAll, codeOfError, exit, said } from '../exit.ts';
import { type Chosen, owning } from '../named-streams.ts';
import { ownersOf } from '../owner.ts';
import { chosen, pipelineNamed } from '../pipelines.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import type { Progress } from '../progress/types.ts';
import { ofPipeline, runDeps } from '../running.ts';
import { filled } from '../schema.ts';
import { table } from '../table.ts';
import { clip, escaped, plural, relative } from '../text.ts';

/** The dead letters, last seen first. */
export const listRejects: Verb<{
  readonly stream?: string | undefined;
  readonly all?: boolean | undefined;
  readonly limit: number;
}> = async (context, { stream, all, limit }) => {
  const { db } = await filled(context);
  const owners = stream === undefined ? undefined : await ownersOf(db, stream);
  const found = await rejects(db, { ...(owners === undefined ? {} : ofOwners(owners)), all, limit });
  if (context.json) {
    context.out.line(toJson({ rejects: found }, 2));
    return exit.ok;
  }
  if (found.length === 0) {
    context.out.line(`No ${all ? '' : 'open '}rejects${stream === undefined ? '' : ` of ${stream}`}.`);
    return exit.ok;
  }
  const now = new Date();
  const rows = found.map((each) => [
    each.rejectId,
    `${each.pipeline}.${each.stream}`,
    each.recordKey,
    each.code,
    each.field ?? '',
    each.status,
    relative(each.lastSeenAt, now),
    each.attempts,
    each.message,
  ]);
  for (const [at, line] of table(heads, rows, context.out).entries()) {
    context.out.line(line);
    const excerpt = found[at - 1]?.excerpt;
    if (excerpt !== undefined)
      context.out.line(
        context.out.paint('dim', `    ${clip(escaped(excerpt), Math.max(40, (context.out.columns ?? 200) - 5))}`),
      );
  }
  if (found.length === limit && !context.quiet) context.err.line(`Only the newest ${limit}; more with --limit.`);
  return exit.ok;
};

/** A name that several pipelines have means each of theirs. */
const ofOwners = ([one, ...others]: readonly [StreamState, ...StreamState[]]) =>
  others.length === 0 ? { pipeline: one.pipeline, stream: one.stream } : { stream: one.stream };

const heads = [
  { title: 'ID', align: 'right' },
  { title: 'STREAM' },
  { title: 'KEY' },
  { title: 'CODE' },
  { title: 'FIELD' },
  { title: 'STATUS' },
  { title: 'LAST SEEN' },
  { title: 'RUNS', align: 'right' },
  { title: 'WHY', flexible: true },
] as const;

/** Puts dead letters through the transform and the load again. Exit code 3 if some are still rejected. */
export const replayRejects: Verb<{
  readonly id?: string | undefined;
  readonly stream?: string | undefined;
  readonly pipeline?: string | undefined;
}> = async (context, { id, stream, pipeline }) => {
  const config = await context.parts.config();
  const named = pipeline === undefined ? undefined : pipelineNamed(pipeline, config).name;
  const one = id === undefined ? undefined : await rejectOf(context, id);
  if (one !== undefined && one.status !== 'open') return nothingToDo(context, one);
  if (one !== undefined && named !== undefined && named !== one.pipeline)
    throw new Misconfigured(`reject ${one.rejectId} is one of ${one.pipeline}, not of ${named}`);
  const names =
    one !== undefined ? [pipelineNamed(one.pipeline, config).name] : named === undefined ? chosen([], config) : [named];
  const asked = await owning(names, stream === undefined ? undefined : [stream], config, context.version);
  const told = progress({ ...context, quiet: context.quiet || context.json, json: false });
  const results: object[] = [];
  const codes: number[] = [];
  try {
    for (const each of asked) {
      try {
        const result = await replayed(context, each, id, told);
        results.push(result);
        codes.push(result.stillRejected > 0 ? exit.partly : exit.ok);
        if (!context.json) context.out.line(sentence(result, stream));
      } catch (error) {
        if (asked.length === 1 || context.signal.aborted) throw error;
        // What was done for the others is done, and told.
        context.err.line(`${context.err.paint('red', 'tidemark')}: ${ofPipeline(each.pipeline, said(error).message)}`);
        results.push({ pipeline: each.pipeline, error: said(error) });
        codes.push(codeOfError(error, context.received()));
      }
      if (context.signal.aborted) break;
    }
  } finally {
    told.end();
    if (context.json && results.length > 0) context.out.line(toJson({ results }, 2));
  }
  return codeOfAll(codes, asked.length, context.received());
};

interface Replayed {
  readonly pipeline: string;
  readonly replayed: number;
  readonly stillRejected: number;
  /** Of those that are still rejected: too large to have been kept whole, so that there is nothing to replay. */
  readonly cut: number;
}

async function replayed(
  context: Context,
  { pipeline, streams }: Chosen,
  id: string | undefined,
  told: Progress,
): Promise<Replayed> {
  const { replayRejects: replay } = await import('../../run/replay.ts');
  const deps = await runDeps(context, pipeline, told);
  const [stream] = streams ?? [];
  const done = await replay(deps, { ...(stream === undefined ? {} : { stream }), ...(id === undefined ? {} : { id }) });
  const cut = await cutRejects(deps.warehouse.db, pipeline, stream, id);
  return { pipeline, replayed: done.replayed, stillRejected: done.stillRejected + cut, cut };
}

/** How many open ones were too large to be kept whole. */
async function cutRejects(db: Db, pipeline: string, stream: string | undefined, id: string | undefined) {
  const { rows } = await sql<{ cut: number }>`
    select count(*)::float8 as cut from ops.rejects r join ops.sources src using (source_id)
    where src.name = ${pipeline} and r.status = 'open' and r.truncated
      and (${stream ?? null}::text is null or r.stream = ${stream ?? null})
      and (${id ?? null}::bigint is null or r.reject_id = ${id ?? null}::bigint)`.execute(db);
  return rows[0]?.cut ?? 0;
}

function sentence({ pipeline, replayed, stillRejected, cut }: Replayed, stream: string | undefined): string {
  if (replayed + stillRejected === 0)
    return `${pipeline}: no open rejects${stream === undefined ? '' : ` of ${stream}`}.`;
  const large =
    cut === 0
      ? ''
      : ` ${plural(cut, 'record')} of these ${cut === 1 ? 'was' : 'were'} too large to be kept whole: nothing can be replayed, only a good version from the source resolves that.`;
  return `${pipeline}: ${plural(replayed, 'record')} landed, ${plural(stillRejected, 'record')} still rejected.${large}`;
}

/** The reject of that number. Throws Misconfigured if there is none. */
async function rejectOf(context: Context, id: string): Promise<Reject> {
  const unknown = () => new Misconfigured(`there is no reject ${id}; \`tidemark rejects list\` shows them`);
  if (!/^\d{1,18}$/.test(id)) throw unknown();
  const { db } = await filled(context);
  const [found] = await rejects(db, { rejectId: id, all: true, limit: 1, excerptBytes: 0 });
  if (found === undefined) throw unknown();
  return found;
}

function nothingToDo({ out, json }: Context, { rejectId, pipeline, stream, status }: Reject): number {
  if (json) out.line(toJson({ results: [{ pipeline, replayed: 0, stillRejected: 0, cut: 0 }] }, 2));
  else out.line(`Reject ${rejectId} of ${pipeline}.${stream} is ${status}: there is nothing to replay.`);
  return exit.ok;
}
