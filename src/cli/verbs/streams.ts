import type { Db } from '../../queries/db.ts';
import { type StreamState, streamStates } from '../../queries/freshness.ts';
import { columns, type RowCount, receipts, rowCount, tableName } from '../../queries/stream-history.ts';
import { receiptText } from '../../queries/summary-text.ts';
import type { Context, Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { ownerOf } from '../owner.ts';
import { toJson } from '../progress/json.ts';
import { filled } from '../schema.ts';
import { facts, table } from '../table.ts';
import { count, duration, minute, relative } from '../text.ts';

/** The streams with their tables, or one of them in detail. */
export const streams: Verb<{ readonly name?: string | undefined }> = async (context, { name }) => {
  const { db } = await filled(context);
  if (name !== undefined) return detail(context, db, await ownerOf(db, name));
  const all = await streamStates(db);
  const found = await Promise.all(all.map(async (each) => ({ ...each, rows: await rowsOf(db, each) })));
  if (context.json) context.out.line(toJson({ streams: found }, 2));
  else
    for (const line of table(
      heads,
      found.map((each) => [
        `${each.pipeline}.${each.stream}`,
        each.freshness,
        each.target,
        each.rows === null ? null : `${each.rows.exact ? '' : '~'}${count(each.rows.live)}`,
        each.watermark === null ? null : `${minute(each.watermark)}`,
        each.endpoint,
        each.about,
      ]),
      context.out,
    ))
      context.out.line(line);
  return exit.ok;
};

const heads = [
  { title: 'STREAM' },
  { title: 'STATE' },
  { title: 'TABLE' },
  { title: 'ROWS', align: 'right' },
  { title: 'WATERMARK (UTC)' },
  { title: 'READ FROM', flexible: true },
  { title: 'WHAT', flexible: true },
] as const;

async function rowsOf(db: Db, stream: StreamState, exactly = false): Promise<RowCount | null> {
  const target = tableName(stream.target);
  return target === undefined ? null : ((await rowCount(db, target, exactly)) ?? null);
}

async function detail(context: Context, db: Db, stream: StreamState): Promise<number> {
  const { out } = context;
  const target = tableName(stream.target);
  const rows = await rowsOf(db, stream, true);
  const shape = target === undefined ? [] : await columns(db, target);
  const last = await receipts(db, stream.pipeline, stream.stream, 10);
  if (context.json) {
    out.line(toJson({ ...stream, rows, columns: shape, receipts: last }, 2));
    return exit.ok;
  }
  const now = new Date();
  const lines = (texts: readonly string[]) => {
    for (const text of texts) out.line(text);
  };
  out.line(out.paint('bold', `${stream.pipeline}.${stream.stream}: ${stream.about}`));
  lines(
    facts(
      [
        [
          'state',
          `${stream.freshness}${stream.freshness === 'fresh' || stream.reason === null ? '' : `: ${stream.reason}`}`,
        ],
        [
          'as of',
          stream.freshAt === null ? null : `${minute(stream.freshAt)} UTC (${relative(stream.freshAt, now)})`,
        ],
        [
          'watermark',
          stream.watermark === null ? null : `${minute(stream.watermark)} UTC by the source's clock`,
        ],
        ['last full walk', stream.fullAt === null ? null : `${minute(stream.fullAt)} UTC`],
        ['promise', `at most ${duration(stream.promiseSeconds)} old`],
        ['read from', stream.endpoint],
        ['table', stream.target],
        [
          'rows',
          rows === null
            ? null
            : `${count(rows.live)}${rows.deleted > 0 ? `, and ${count(rows.deleted)} deleted at the source` : ''}`,
        ],
        ['rejects', `${count(stream.openRejects)} open`],
      ],
      out,
    ),
  );
  out.line();
  lines(
    table(
      [{ title: 'COLUMN' }, { title: 'TYPE' }, { title: 'WHAT IT IS', flexible: true }],
      shape.map((each) => [each.key ? `${each.column} *` : each.column, each.type, each.comment ?? '']),
      out,
    ),
  );
  if (last.length === 0) return exit.ok;
  out.line();
  lines(
    table(
      receiptHeads,
      last.map((each) => [
        each.runId,
        each.kind,
        each.status,
        each.finishedAt === null ? null : relative(each.finishedAt, now),
        each.seconds === null ? null : duration(each.seconds),
        receiptText(each.receipt),
        each.counts.inserted,
        each.counts.updated,
        each.counts.rejected,
        each.reason ?? '',
      ]),
      out,
    ),
  );
  return exit.ok;
}

const receiptHeads = [
  { title: 'RUN', align: 'right' },
  { title: 'KIND' },
  { title: 'STATUS' },
  { title: 'ENDED' },
  { title: 'TOOK', align: 'right' },
  { title: 'RECEIPT', align: 'right' },
  { title: 'NEW', align: 'right' },
  { title: 'CHANGED', align: 'right' },
  { title: 'REJECTED', align: 'right' },
  { title: 'WHY', flexible: true },
] as const;
