/** `bi` as files: every view of one snapshot, and a manifest that says what they hold. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ClientBase, Pool } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { Misconfigured } from '../core/errors.ts';
import { makeDirectory } from '../core/make-directory.ts';
import { dayOf, viewsOf, type Writing, type Written } from './views.ts';

export interface ExportOptions {
  readonly format: 'parquet' | 'csv';
  /** Only these views; default: all of `bi`. */
  readonly views?: readonly string[] | undefined;
  /** Only rows of this day and later (`2026-01-31`), of views whose rows belong to a day. */
  readonly since?: string | undefined;
  /** Of this program. */
  readonly version: string;
  readonly signal?: AbortSignal;
  readonly onView?: (view: string) => void;
}

interface ExportedFile {
  /** Below the folder. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
}

interface ExportedView {
  readonly name: string;
  readonly about: string | null;
  readonly rows: number;
  /** The column that `since` was compared with; null: the view is whole. */
  readonly since: string | null;
  readonly files: readonly ExportedFile[];
  /** With the exact sum of all values, as text, of bigint and numeric columns in Parquet: a check for a load, not a measure. */
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly about: string | null;
    readonly sum?: string;
  }[];
}

/** What `manifest.json` holds. */
export interface Manifest {
  /** Version of the program, and that of the schema `bi`. */
  readonly tidemark: string;
  readonly biVersion: string;
  readonly exportedAt: string;
  /** `pg_current_snapshot()` of the one transaction that read everything. */
  readonly snapshot: string;
  readonly reportingTimeZone: string;
  readonly format: 'parquet' | 'csv';
  readonly since: string | null;
  /** The last good run of each stream, with its receipt. */
  readonly streams: readonly object[];
  readonly views: readonly ExportedView[];
}

/**
 * Writes the views into `folder`, which holds nothing yet or an earlier export, and is replaced at the end: a failed export leaves it as it was.
 * Throws `Misconfigured` for a folder with other files in it, and for an unknown view.
 */
export async function exportViews(pool: Pool, folder: string, options: ExportOptions): Promise<Manifest> {
  const { signal } = options;
  const earlier = earlierExport(folder);
  const beside = (what: string) => `${folder}.${what}-${crypto.randomBytes(4).toString('hex')}`;
  const half = beside('part');
  const client = await pool.connect();
  try {
    makeDirectory(half);
    const manifest = await exported(client, half, options);
    fs.writeFileSync(path.join(half, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const old = beside('old');
    if (earlier) fs.renameSync(folder, old);
    fs.renameSync(half, folder);
    fs.rmSync(old, { recursive: true, force: true });
    return manifest;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    // Ends the transaction, and a statement under way.
    client.release(true);
    fs.rmSync(half, { recursive: true, force: true });
  }
}

/** Whether the folder exists. Throws Misconfigured if it holds what no export wrote. */
function earlierExport(folder: string): boolean {
  if (!fs.existsSync(folder)) return false;
  const own = exportedNames(path.join(folder, 'manifest.json'));
  const foreign = fs.readdirSync(folder).find((file) => !own.includes(file));
  if (foreign === undefined) return true;
  throw new Misconfigured(`${folder} holds ${foreign}, which is of no export: name a new or an empty folder`);
}

/** What an export with this manifest has in its folder; nothing, if it is none. */
function exportedNames(manifest: string): readonly string[] {
  try {
    const { views }: Manifest = JSON.parse(fs.readFileSync(manifest, 'utf8'));
    return ['manifest.json', ...views.map(({ name }) => name)];
  } catch {
    return [];
  }
}

/** The last good run of each stream, with its receipt. */
const lastGoodRuns = `
  select distinct on (source, stream) source, stream, run_id as "runId", run_kind as kind, finished_at as "finishedAt",
    records_expected::double precision as expected, records_fetched::double precision as read,
    records_landed::double precision as stored
  from bi.stream_runs where status = 'ok' order by source, stream, started_at desc`;

async function exported(client: ClientBase, folder: string, options: ExportOptions): Promise<Manifest> {
  const { format, since = null, version } = options;
  await client.query('begin isolation level repeatable read read only');
  // A cursor is read to its end: it needs the plan that is the fastest for all rows.
  await client.query('set local cursor_tuple_fraction = 1');
  const { rows } = await client.query(`select now() as "exportedAt", pg_current_snapshot()::text as snapshot,
    ops.reporting_time_zone() as "reportingTimeZone", (select bi_version from bi.contract) as "biVersion"`);
  const write = format === 'csv' ? writeCsv : (await import('./parquet.ts')).writeParquet;
  const views: ExportedView[] = [];
  for (const view of await viewsOf(client, options.views)) {
    options.onView?.(view.name);
    const day = dayOf(view) ?? null;
    const compared = since === null ? null : day;
    const where = compared === null ? '' : ` where ${compared} >= date '${since}'`;
    fs.mkdirSync(path.join(folder, view.name));
    const { files, sums } = await write({ client, view, folder, where, ...options });
    views.push({
      name: view.name,
      about: view.about,
      since: compared,
      rows: files.reduce((all, { rows }) => all + rows, 0),
      files: files.map((file) => ({ ...file, bytes: fs.statSync(path.join(folder, file.path)).size })),
      columns: view.columns.map(({ id, ...column }) => ({ ...column, ...sums?.get(column.name) })),
    });
  }
  const { rows: streams } = await client.query(lastGoodRuns);
  await client.query('commit');
  return { tidemark: version, ...rows[0], format, since, streams, views };
}

/** One file, as Postgres writes it: null is nothing, an empty text is "". */
async function writeCsv({ client, view, folder, where, signal }: Writing): Promise<Written> {
  const file = `${view.name}/data.csv`;
  const rows = client.query(copyTo(`copy (select * from ${view.id}${where}) to stdout (format csv, header)`));
  await pipeline(rows, fs.createWriteStream(path.join(folder, file)), { ...(signal && { signal }) });
  return { files: [{ path: file, rows: rows.rowCount }] };
}
