import { Misconfigured } from '../../core/errors.ts';
import { type Lineage, type LineageSlice, lineage, syncedTable } from '../../queries/lineage.ts';
import { receiptText } from '../../queries/summary-text.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/json.ts';
import { filled } from '../schema.ts';
import { facts, table } from '../table.ts';
import { clip, duration, escaped, minute, relative } from '../text.ts';
import { partitionText } from './runs.ts';

/** The lineage of one row, by id, key or former key. Exit code 1 if there is no such row. */
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
  if (found === undefined) {
    const message = `${target.schema}.${target.name} has no row with key “${key}”`;
    if (context.json)
      context.out.line(toJson({ table: `${target.schema}.${target.name}`, key, row: null }, 2));
    else context.out.line(escaped(message));
    return exit.failed;
  }
  if (context.json) context.out.line(toJson(found, 2));
  else show(context, found);
  return exit.ok;
};

function show({ out }: Context, found: Lineage): void {
  const lines = (texts: readonly string[]) => {
    for (const text of texts) out.line(text);
  };
  const now = new Date();
  const room = Math.max(40, (out.columns ?? 140) - 32);
  const title = [found.row.key, found.row.name, found.row.id].find(
    (each) => each !== undefined && each !== null,
  );
  out.line(out.paint('bold', escaped(`${found.table} ${String(title ?? '')}`)));
  if (found.foundByFormerKey !== null) out.line(`${escaped(found.foundByFormerKey)} is a former key of it.`);
  if (found.deletedAt !== null)
    out.line(out.paint('yellow', `Deleted at the source: marked ${minute(new Date(found.deletedAt))} UTC.`));
  out.line();
  lines(
    facts(
      Object.entries(found.row)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => [name, clip(escaped(plain(value)), room)] as const),
      out,
    ),
  );
  out.line();
  const { run, source } = found;
  lines(
    facts(
      [
        [
          'written by',
          run === null
            ? 'a run that is no longer on record'
            : `run ${run.runId} (${run.kind}, ${run.status}), ${minute(run.startedAt)} UTC, ${relative(run.startedAt, now)}, ${duration(run.seconds)}`,
        ],
        ['in slice', found.slice === null ? null : sliceText(found.slice)],
        [
          'read from',
          source === null
            ? null
            : `${source.endpoint} of ${source.baseUrl} (stream ${source.name}.${source.stream})`,
        ],
        ['former keys', found.formerKeys.length === 0 ? null : found.formerKeys.join(', ')],
        ['tombstone', found.deletedAt === null ? 'none: it lives' : found.deletedAt],
      ],
      out,
    ),
  );
  const children = found.children.filter((each) => each.rows > 0);
  if (children.length > 0) {
    out.line();
    lines(
      table(
        [{ title: 'ROWS THAT POINT TO IT' }, { title: 'COUNT', align: 'right' }],
        children.map((each) => [each.table, each.rows]),
        out,
      ),
    );
  }
  if (found.rejects.length > 0) {
    out.line();
    lines(
      table(
        [
          { title: 'REJECT', align: 'right' },
          { title: 'STATUS' },
          { title: 'CODE' },
          { title: 'LAST SEEN' },
          { title: 'WHY', flexible: true },
        ],
        found.rejects.map((each) => [
          each.rejectId,
          each.status,
          each.code,
          relative(each.lastSeenAt, now),
          each.message,
        ]),
        out,
      ),
    );
  }
}

const plain = (value: unknown): string => (typeof value === 'object' ? toJson(value) : String(value));

function sliceText(slice: LineageSlice): string {
  const side = (at: Date | null): string => (at === null ? '…' : minute(at));
  const window =
    slice.field === null ? 'the whole list' : `${slice.field} [${side(slice.from)}, ${side(slice.to)}) UTC`;
  const owner = slice.partition === null ? '' : `${partitionText(slice.partition)}, `;
  const receipt =
    slice.fetched === null
      ? ''
      : `, receipt ${receiptText({ expected: slice.expected, fetched: slice.fetched, landed: slice.landed ?? 0 })}`;
  return `${owner}${window} of a ${slice.walk} walk${receipt}`;
}
