import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** A narrow heap makes the collector tidy: what then grows with the file is held on to, not only not collected yet. */
const narrow = ['--max-old-space-size=32', '--max-semi-space-size=4'];

const run = async (mb: number): Promise<{ readonly rows: number; readonly peakMb: number }> => {
  const script = path.join(import.meta.dirname, 'memory.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...narrow, script, String(mb)]);
  return JSON.parse(stdout);
};

test('a CSV of 100 MB takes no more memory than one of 10', async () => {
  const small = await run(10);
  const large = await run(100);
  expect(large.rows).toBeGreaterThan(9 * small.rows);
  expect(large.peakMb).toBeLessThan(small.peakMb * 1.15);
});
