/** `why`: where one row comes from. */
import { Misconfigured } from '../core/errors.ts';
import { escaped, minute } from '../core/format.ts';
import { type Lineage, lineage, syncedTable } from '../queries/lineage.ts';
import type { Context, Verb } from './context.ts';
import { exit } from './exit.ts';
import { facts, print, table, toJson } from './output.ts';
import { filled } from './schema.ts';

/** By id, key or former key. Exit code 1 if there is no such row. */
export const why: Verb<{ readonly table: string; readonly key: string }> = async (
  context,
  { table: name, key },
) => {
  const { db } = await filled(context);
  const target = await syncedTable(db, name);
  if (target === undefined)
    throw new Misconfigured(
      `there is no synced table “${name}”; write it as tracker.issues (\`tidemark streams\` lists the tables)`,
    );
  const found = await lineage(db, target, key);
  if (found !== undefined) return print(context, found, () => lines(context, found));
  const full = `${target.schema}.${target.name}`;
  print(context, { table: full, key, row: null }, () => [escaped(`${full} has no row with key “${key}”`)]);
  return exit.failed;
};

function lines({ out }: Context, found: Lineage): readonly string[] {
  const { row, run, source, slice, foundByFormerKey, formerKeys, deletedAt } = found;
  const room = Math.max(40, (out.columns ?? 140) - 32);
  const values = Object.entries(row)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => [name, cut(typeof value === 'object' ? toJson(value) : String(value), room)]);
  const children = found.children.filter(({ rows }) => rows > 0);
  const origin = {
    'written by': run
      ? `run ${run.runId} (${run.kind}, ${run.status}), ${minute(run.startedAt)} UTC`
      : 'a run that is no longer on record',
    stream: source ? `${source.name}.${source.stream}` : null,
    'read from': source ? `${source.endpoint} of ${source.baseUrl}` : null,
    'former keys': formerKeys.length === 0 ? undefined : formerKeys.join(', '),
  };
  return [
    out.paint('bold', escaped(`${found.table} ${row.key ?? row.name ?? row.id ?? ''}`)),
    ...(foundByFormerKey === null ? [] : [`${escaped(foundByFormerKey)} is a former key of it.`]),
    ...(deletedAt === null
      ? []
      : [out.paint('yellow', `Deleted at the source: marked ${minute(new Date(deletedAt))} UTC.`)]),
    '',
    ...facts(Object.fromEntries(values), out),
    '',
    ...facts(origin, out),
    ...(slice
      ? facts({ ...slice, receipt: slice.fetched === null ? null : slice }, out, [...sliceKeys])
      : []),
    ...(children.length > 0 ? ['', ...table(['table', 'rows'], children, out)] : []),
    ...(found.rejects.length > 0
      ? ['', ...table(['rejectId', 'status', 'code', 'lastSeenAt', 'message'], found.rejects, out)]
      : []),
  ];
}

/** The part of the source that the run read. */
const sliceKeys = ['partition', 'field', 'from', 'to', 'walk', 'receipt'] as const;

/** At most this many characters. */
export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;
