/** What the demo reports at its end: everything is queried from the warehouse. */
import type pg from 'pg';
import type { Receipt, RunReport } from '../../src/core/run.ts';
import { type Compared, compare, type Truths } from './compare.ts';
import { type Question, questions } from './questions.ts';

/** One change at a source. */
export interface Change {
  readonly what: string;
  /** SQL that returns one text, what the warehouse holds now; no row, or null, as long as the change has not arrived. */
  readonly found: string;
  readonly values: readonly string[];
}

export interface Facts {
  readonly tables: readonly {
    readonly table: string;
    readonly rows: number;
    readonly deleted: number;
    /** The table's comment. */
    readonly about: string | null;
  }[];
  readonly receipts: readonly ({ readonly stream: string } & Receipt)[];
  /** The source's own count beside the warehouse's. */
  readonly compared: readonly Compared[];
  readonly changes: readonly { readonly what: string; readonly found: string | null }[];
  readonly answers: readonly (Question & {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
  })[];
}

/** Runs every query. `first`: the reports of the first sync, whose receipts cover every record. */
export async function askFacts(
  pool: pg.Pool,
  first: readonly RunReport[],
  changes: readonly Change[],
  truths: Truths,
): Promise<Facts> {
  const answers = [];
  for (const question of questions) {
    const { rows, fields } = await pool.query<unknown[]>({ text: question.sql, rowMode: 'array' });
    answers.push({ ...question, columns: fields.map((field) => field.name), rows });
  }
  return {
    tables: await tablesOf(pool),
    receipts: first.flatMap(({ pipeline, streams }) =>
      streams
        .filter(({ status }) => status !== 'unavailable')
        .map(({ stream, receipt }) => ({ stream: `${pipeline}.${stream}`, ...receipt })),
    ),
    compared: await compare(pool, truths),
    changes: await Promise.all(
      changes.map(async ({ what, found, values }) => {
        const { rows } = await pool.query<[string]>({ text: found, values: [...values], rowMode: 'array' });
        return { what, found: rows[0]?.[0] ?? null };
      }),
    ),
    answers,
  };
}

/** True if the warehouse holds what the sources hold, and every change has arrived. */
export const isTrue = (facts: Facts): boolean =>
  facts.compared.every((each) => each.source === each.warehouse) &&
  facts.changes.every((each) => each.found !== null);

async function tablesOf(pool: pg.Pool): Promise<Facts['tables']> {
  const { rows: tables } = await pool.query<{
    schema: string;
    name: string;
    about: string | null;
    tombstones: boolean;
  }>(
    `select n.nspname as schema, c.relname as name, obj_description(c.oid) as about, exists (
       select from pg_attribute a where a.attrelid = c.oid and a.attname = '_deleted_at' and not a.attisdropped) as tombstones
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('tracker', 'ads', 'workflow') and c.relkind in ('r', 'p') and not c.relispartition
     order by array_position(array['tracker', 'ads', 'workflow'], n.nspname::text), c.relname`,
  );
  return Promise.all(
    tables.map(async ({ schema, name, about, tombstones }) => {
      const dead = tombstones ? 'count(*) filter (where _deleted_at is not null)' : '0';
      const { rows } = await pool.query<{ rows: number; deleted: number }>(
        `select count(*)::int as rows, (${dead})::int as deleted from ${pgName(schema)}.${pgName(name)}`,
      );
      const found = rows[0] ?? { rows: 0, deleted: 0 };
      return { table: `${schema}.${name}`, rows: found.rows - found.deleted, deleted: found.deleted, about };
    }),
  );
}

const pgName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
