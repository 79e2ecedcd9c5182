/** What must hold after any run of any source. */

import type { RunReport } from '../../src/core/run.ts';
import type { Rig } from '../support/rig.ts';

type Rows = Rig['rows'];

export interface Checkpoint {
  readonly stream: string;
  readonly at: number;
}

export const checkpoints = async (rows: Rows): Promise<readonly Checkpoint[]> =>
  (await rows<{ stream: string; watermark: Date }>('select stream, watermark from ops.checkpoints')).map(
    (row) => ({
      stream: row.stream,
      at: row.watermark.getTime(),
    }),
  );

/**
 * Counts add up, in the books and in the report, and green means that every receipt matched (guarantee G13). `notThere`: whether a green run
 * may say of a stream that the server does not have it, or does not open it to us.
 */
export async function books(
  name: string,
  rows: Rows,
  report: RunReport | undefined,
  notThere: (stream: string, status: string) => boolean = () => false,
): Promise<void> {
  const off = await rows<{ line: string }>(
    `select run_id || ' ' || stream as line from ops.run_streams
     where received <> inserted + updated + unchanged + deduplicated + superseded + rejected or rejected <> 0`,
  );
  expectThat(
    off.length === 0,
    `${name}: counts that do not add up: ${off.map((row) => row.line).join(', ')}`,
  );
  const odd = await rows<{ stream: string; status: string; line: string }>(
    `select stream, s.status, format('%s %s: expected %s, read %s, stored %s', stream, s.status, expected, read, stored) as line
     from ops.run_streams s join ops.runs r using (run_id)
     where r.status = 'succeeded' and (s.status not in ('ok', 'skipped') or read < expected or stored < read)`,
  );
  const wrong = odd.filter(({ stream, status }) => !notThere(stream, status));
  expectThat(
    wrong.length === 0,
    `${name}: green with a receipt that does not match: ${wrong.map((row) => row.line)}`,
  );
  for (const { stream, status: verdict, receipt } of report?.streams ?? []) {
    const [row] = await rows<{ expected: string | null; read: string; stored: string; status: string }>(
      'select expected::text, read::text, stored::text, status from ops.run_streams where run_id = $1 and stream = $2',
      [report?.runId, stream],
    );
    const reported = [receipt.expected, receipt.read, receipt.stored, verdict].join();
    const kept = [row?.expected, row?.read, row?.stored, row?.status].join();
    expectThat(reported === kept, `${name}: ${stream} was reported as ${reported}, and kept as ${kept}`);
  }
}

/** Checkpoints never go back, and move only with a complete walk of a sync. */
export async function watermarks(
  name: string,
  rows: Rows,
  kind: string,
  report: RunReport | undefined,
  before: readonly Checkpoint[],
): Promise<void> {
  const after = new Map((await checkpoints(rows)).map((one) => [one.stream, one.at]));
  for (const { stream, at } of before) {
    const now = after.get(stream);
    expectThat(now !== undefined && now >= at, `${name}: the watermark of ${stream} went back`);
  }
  const old = new Map(before.map((one) => [one.stream, one.at]));
  for (const [stream, at] of after) {
    if (old.get(stream) === at) continue;
    expectThat(kind === 'sync' || kind === 'full', `${name}: a ${kind} moved the watermark of ${stream}`);
    const part = report?.streams.find((one) => one.stream === stream);
    // An interrupted walk that was finished first moves it, too, though the new walk may fail then.
    expectThat(
      part === undefined || part.status !== 'partial' || part.slices > 1,
      `${name}: ${stream} moved, partial`,
    );
  }
}

export function same(what: string, lines: readonly string[]): void {
  expectThat(lines.length === 0, `${what}:\n  ${lines.slice(0, 12).join('\n  ')}`);
}

export function expectThat(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
