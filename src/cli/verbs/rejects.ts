import { Misconfigured } from '../../core/errors.ts';
import { rejects } from '../../run/history/rejects.ts';
import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { chosen, pipelineNamed } from '../pipelines.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import { runDeps } from '../running.ts';
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
  const found = await rejects(db, { stream, all, limit });
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
  if (id !== undefined && !/^\d{1,18}$/.test(id))
    throw new Misconfigured(`“${id}” is no number of a reject; \`tidemark rejects list\` shows them`);
  const config = await context.parts.config();
  const names = pipeline === undefined ? chosen([], config) : [pipelineNamed(pipeline, config).name];
  const told = progress({ ...context, quiet: context.quiet || context.json, json: false });
  const results: { pipeline: string; replayed: number; stillRejected: number }[] = [];
  try {
    const { replayRejects: replay } = await import('../../run/replay.ts');
    for (const name of names)
      results.push({
        pipeline: name,
        ...(await replay(await runDeps(context, name, told), {
          ...(stream === undefined ? {} : { stream }),
          ...(id === undefined ? {} : { id }),
        })),
      });
  } finally {
    told.end();
  }
  if (context.json) context.out.line(toJson({ results }, 2));
  else
    for (const each of results)
      context.out.line(
        each.replayed + each.stillRejected === 0
          ? `${each.pipeline}: no open rejects${stream === undefined ? '' : ` of ${stream}`}.`
          : `${each.pipeline}: ${plural(each.replayed, 'record')} landed, ${plural(each.stillRejected, 'record')} still rejected.`,
      );
  return results.some((each) => each.stillRejected > 0) ? exit.partly : exit.ok;
};
