import fs from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/** Tables of a schema with rows in them, and how many. */
export async function tablesOf(
  pool: pg.Pool,
  schema: string,
): Promise<readonly { name: string; rows: number }[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = $1 and table_type = 'BASE TABLE' order by 1`,
    [schema],
  );
  const counted = [];
  for (const { name } of rows) {
    const { rows: found } = await pool.query<{ n: string }>(
      `select count(*) as n from "${schema}"."${name}"`,
    );
    counted.push({ name, rows: Number(found[0]?.n ?? 0) });
  }
  return counted.filter((table) => table.rows > 0);
}

/** Writes every table into a file of COPY text, as `psql \copy … to` would. */
export async function dump(pool: pg.Pool, schema: string, folder: string): Promise<void> {
  for (const { name } of await tablesOf(pool, schema)) {
    const client = await pool.connect();
    try {
      const file = fs.createWriteStream(path.join(folder, `${name}.copy`));
      await pipeline(client.query(copyTo(`copy (select * from "${schema}"."${name}") to stdout`)), file);
    } finally {
      client.release();
    }
  }
}

/**
 * Reads the files back into empty tables of the same definition, one after the other, as `psql \copy … from` would; without triggers,
 * because stored facts are among the rows. Seconds.
 */
export async function rawCopy(pool: pg.Pool, schema: string, folder: string): Promise<number> {
  const started = performance.now();
  for (const file of fs.readdirSync(folder).sort()) {
    const client = await pool.connect();
    try {
      const name = path.basename(file, '.copy');
      await client.query('set session_replication_role = replica');
      await pipeline(
        fs.createReadStream(path.join(folder, file), { highWaterMark: 1 << 18 }),
        client.query(copyFrom(`copy "${schema}"."${name}" from stdin`)),
      );
    } finally {
      client.release();
    }
  }
  return (performance.now() - started) / 1000;
}
