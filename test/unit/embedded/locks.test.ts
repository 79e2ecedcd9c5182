import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../support/processes.ts';
import { open, root, user } from '../../support/users.ts';

/** A file to lock, with that mode, and what somebody is told who takes it twice and is not root. */
async function takenTwice(mode: number): Promise<readonly string[]> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-lock-'));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  fs.chmodSync(directory, 0o777);
  const file = path.join(directory, 'lock');
  fs.writeFileSync(file, '');
  fs.chmodSync(file, mode);
  const as = root ? user : {};
  return JSON.parse(await run(new URL('programs/lock.ts', import.meta.url), [file], as).line());
}

test.runIf(!root || open)('who has a lock alone has it alone', async () => {
  expect(await takenTwice(0o666)).toEqual(['held', 'busy']);
});

test.runIf(!root || open)(
  'a lock in a file that may only be read is nobody’s: it is told, with what to do',
  async () => {
    const [first, second] = await takenTwice(0o444);
    expect(first).toMatch(/^cannot lock .*\/lock \(EACCES.* may this user write there.*Set TIDEMARK_HOME/);
    expect(second).toBe(first);
  },
);
