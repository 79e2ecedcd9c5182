/** `rejects replay`: what could not become rows is tried again, from the bytes that were kept. */

import { Misconfigured } from '../../core/errors.ts';
import { cutRejects, type Reject, rejects } from '../../queries/reject-list.ts';
import type { Context, Verb } from '../context.ts';
import { codeOfAll, codeOfError, exit, said } from '../exit.ts';
import { type Chosen, owning } from '../named-streams.ts';
import { chosen, pipelineNamed } from '../pipelines.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import type { Progress } from '../progress/types.ts';
import { ofPipeline, runDeps } from '../running.ts';
import { filled } from '../schema.ts';
import { plural } from '../text.ts';

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
    one !== undefined
      ? [pipelineNamed(one.pipeline, config).name]
      : named === undefined
        ? chosen([], config)
        : [named];
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
        context.err.line(
          `${context.err.paint('red', 'tidemark')}: ${ofPipeline(each.pipeline, said(error).message)}`,
        );
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
  const { replayRejects: replay } = await import('../../engine/replay.ts');
  const deps = await runDeps(context, pipeline, told);
  const [stream] = streams ?? [];
  const done = await replay(deps, {
    ...(stream === undefined ? {} : { stream }),
    ...(id === undefined ? {} : { id }),
  });
  const cut = await cutRejects(deps.warehouse.db, { pipeline, stream, rejectId: id });
  return { pipeline, replayed: done.replayed, stillRejected: done.stillRejected + cut, cut };
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
