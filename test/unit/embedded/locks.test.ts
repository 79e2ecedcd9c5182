import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../support/processes.ts';
import { open, root, user } from '../../support/users.ts';

const refused = /^cannot lock .*\/lock \(EACCES.* may this user write there.*Set TIDEMARK_HOME/;

test.runIf(!root || open).each([
  ['is held by one user of it alone', 0o666, 'held', 'busy'],
  ['that may only be read is refused, with what to do', 0o444, expect.stringMatching(refused), undefined],
])('a lock file %s', async (_, mode, first, second = first) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-lock-'));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  fs.chmodSync(directory, 0o777);
  const file = path.join(directory, 'lock');
  fs.writeFileSync(file, '');
  fs.chmodSync(file, mode);
  const program = new URL('programs/lock.ts', import.meta.url);
  const answers = JSON.parse(await run(program, [file], root ? user : {}).line());
  expect(answers).toEqual([first, second]);
});
