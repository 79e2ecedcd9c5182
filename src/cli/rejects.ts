/** `rejects list` and `rejects replay`: records that could not become rows. */
import { Misconfigured } from '../core/errors.ts';
import { escaped, plural } from '../core/format.ts';
import type { RunDeps } from '../engine/context/deps.ts';
import { cutRejects, type Reject, rejects } from '../queries/reject-list.ts';
import type { Context, Verb } from './context.ts';
import { exit } from './exit.ts';
import { cut } from './inspect.ts';
import { print, table } from './output.ts';
import { knownStreams, settingsOf } from './pipelines.ts';
import { runEach } from './run.ts';
import { filled } from './schema.ts';
import { choose } from './sources.ts';

/** The last seen first, each with the beginning of the record. */
export const list: Verb<{
  readonly stream?: string;
  readonly all?: boolean;
  readonly limit: number;
}> = async (context, { stream, all = false, limit }) => {
  const { out, say } = context;
  const { db } = await filled(context);
  const [one, ...others] = stream === undefined ? [] : await knownStreams(db, stream);
  // A name that several pipelines have means the stream of each.
  const pipeline = others.length === 0 ? one?.pipeline : undefined;
  const found = await rejects(db, { pipeline, stream: one?.stream, all, limit });
  if (found.length === limit) say(`Only the newest ${limit}; more with --limit.`);
  return print(context, { rejects: found }, () => {
    if (found.length === 0)
      return [`No ${all ? '' : 'open '}rejects${stream === undefined ? '' : ` of ${stream}`}.`];
    const room = Math.max(40, (out.columns ?? 200) - 5);
    const excerpts = [
      '',
      ...found.map(({ excerpt }) => out.paint('dim', `    ${cut(escaped(excerpt), room)}`)),
    ];
    const rows = found.map((each) => ({ ...each, stream: `${each.pipeline}.${each.stream}` }));
    const keys = [
      'rejectId',
      'stream',
      'recordKey',
      'code',
      'field',
      'status',
      'lastSeenAt',
      'attempts',
      'message',
    ] as const;
    return table(keys, rows, out)
      .flatMap((line, at) => [line, excerpts[at] ?? ''])
      .filter(Boolean);
  });
};

/** Puts rejects through transform and load again. Exit code 3 if some are still rejected. */
export const replay: Verb<{
  readonly id?: string;
  readonly stream?: string;
  readonly pipeline?: string;
}> = async (context, { id, stream, pipeline }) => {
  const one = id === undefined ? undefined : await rejectOf(context, id);
  const wanted = pipeline ?? one?.pipeline;
  if (one !== undefined && wanted !== one.pipeline)
    throw new Misconfigured(`reject ${one.rejectId} is one of ${one.pipeline}, not of ${wanted}`);
  if (one !== undefined && one.status !== 'open')
    return print(context, { pipeline: one.pipeline, replayed: 0, stillRejected: 0 }, () => [
      `Reject ${one.rejectId} of ${one.pipeline}.${one.stream} is ${one.status}: there is nothing to replay.`,
    ]);
  if (wanted !== undefined) settingsOf(await context.parts.config(), wanted);
  const chosen = await choose(
    context,
    wanted === undefined ? [] : [wanted],
    stream === undefined ? [] : [stream],
  );
  return runEach(context, chosen, (deps, { streams }) => replayIn(deps, streams?.[0], id));
};

async function replayIn(deps: RunDeps, stream: string | undefined, id: string | undefined) {
  const { replayRejects } = await import('../engine/replay.ts');
  const pipeline = deps.source.name;
  const done = await replayRejects(deps, {
    ...(stream !== undefined && { stream }),
    ...(id !== undefined && { id }),
  });
  // Records that were too large to be kept whole cannot be replayed.
  const large = await cutRejects(deps.warehouse.db, { pipeline, stream, rejectId: id });
  const stillRejected = done.stillRejected + large;
  const why =
    large === 0
      ? ''
      : ` (${large} too large to be kept whole: only a good version from the source resolves that)`;
  return {
    exitCode: stillRejected > 0 ? exit.partly : exit.ok,
    data: { type: 'replayed', pipeline, replayed: done.replayed, stillRejected },
    line: `${pipeline}: ${plural(done.replayed, 'record')} stored, ${plural(stillRejected, 'record')} still rejected${why}.`,
  };
}

/** Throws Misconfigured if there is none of that number. */
async function rejectOf(context: Context, id: string): Promise<Reject> {
  const { db } = await filled(context);
  const isNumber = /^\d{1,18}$/.test(id);
  const [found] = isNumber ? await rejects(db, { rejectId: id, all: true, limit: 1, excerptBytes: 0 }) : [];
  if (found !== undefined) return found;
  throw new Misconfigured(`there is no reject ${id}; \`tidemark rejects list\` shows them`);
}
