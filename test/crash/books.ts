/** What holds of the books of any run, whatever it read. */

import type { Rig } from '../support/rig.ts';

/** Questions to the warehouse, all of them at one moment. */
export type Rows = Rig['rows'];

/** False where the migrations have not come to the table yet. */
export async function isThere(rows: Rows, table: string): Promise<boolean> {
  const [found] = await rows<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
  return found?.there === true;
}

/** Each stream of the newest run: its records add up, and as many rows bear its name as it says it wrote. */
export async function countsHold(rows: Rows): Promise<readonly string[]> {
  const streams = await rows<{
    stream: string;
    target: string;
    balance: string;
    written: string;
    marked: string;
    run_id: string;
    tombstones: boolean;
  }>(
    `select r.stream, s.target, r.run_id::text, (r.inserted + r.updated)::text as written, r.deleted::text as marked,
       (r.received - r.inserted - r.updated - r.unchanged - r.deduplicated - r.superseded - r.rejected)::text as balance,
       exists (select from pg_attribute where attrelid = s.target::regclass and attname = '_deleted_at') as tombstones
     from ops.run_streams r join ops.streams s using (source_id, stream)
     where r.run_id = (select max(run_id) from ops.runs)`,
  );
  const lines: string[] = [];
  for (const { stream, target, balance, written, marked, run_id, tombstones } of streams) {
    const [counted] = await rows<{ live: string; dead: string }>(
      `select count(*) filter (where ${tombstones ? '_deleted_at is null' : 'true'})::text as live,
         count(*) filter (where ${tombstones ? '_deleted_at is not null' : 'false'})::text as dead
       from ${target} where _run_id = $1`,
      [run_id],
    );
    if (balance !== '0') lines.push(`${stream}: ${balance} records are not accounted for`);
    if (counted?.live !== written)
      lines.push(`${stream}: it says it wrote ${written} rows, there are ${counted?.live}`);
    // Rows of children and relations are removed without a trace; tombstones stay.
    if (Number(counted?.dead) > Number(marked))
      lines.push(`${stream}: ${counted?.dead} tombstones, it says ${marked}`);
  }
  return lines;
}

/** Nothing is left open after a run that came to its end, and no more runs were lost before it than were killed. */
export async function closedBooks(rows: Rows, kills: number): Promise<readonly string[]> {
  const unfinished = await rows<{ line: string }>(
    `select 'run ' || run_id || ' is ' || status as line from ops.runs where status not in ('succeeded', 'lost')
     union all select 'walk ' || walk_id || ' of ' || stream || ' is open' from ops.walks where status = 'open'
     union all select 'the lease is held by ' || holder from ops.leases where holder is not null
     union all select count(*) || ' runs were lost' from ops.runs where status = 'lost' having count(*) > $1`,
    [kills],
  );
  return [...unfinished.map((row) => row.line), ...(await countsHold(rows))];
}

/** One line for each checkpoint that is not at this moment. */
export async function movedTo(rows: Rows, clock: Date): Promise<readonly string[]> {
  const late = await rows<{ stream: string }>(
    'select stream from ops.checkpoints where watermark is distinct from $1 order by stream',
    [clock],
  );
  return late.map((row) => `the checkpoint of ${row.stream} did not move`);
}

/** The streams whose checkpoints claim this moment. */
export async function claimed(rows: Rows, clock: Date): Promise<ReadonlySet<string>> {
  const claims = await rows<{ stream: string }>('select stream from ops.checkpoints where watermark >= $1', [
    clock,
  ]);
  return new Set(claims.map((row) => row.stream));
}
