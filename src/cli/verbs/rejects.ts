/** `rejects list`: the dead letters, last seen first. */

import type { StreamState } from '../../queries/freshness.ts';
import { rejects } from '../../queries/reject-list.ts';
import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { ownersOf } from '../owner.ts';
import { toJson } from '../progress/json.ts';
import { filled } from '../schema.ts';
import { table } from '../table.ts';
import { clip, escaped, relative } from '../text.ts';

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
        context.out.paint(
          'dim',
          `    ${clip(escaped(excerpt), Math.max(40, (context.out.columns ?? 200) - 5))}`,
        ),
      );
  }
  if (found.length === limit && !context.quiet)
    context.err.line(`Only the newest ${limit}; more with --limit.`);
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
