import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');

test.each([
  ['feat(jira): read boards\n\nWhy.', 0],
  ["# A comment of git.\nMerge branch 'main'", 0],
  ['fixup! feat: read boards', 0],
  ['Read boards', 1],
  ['feat: read boards.', 1],
  [`feat: ${'x'.repeat(67)}`, 1],
])('the hook that `npm run hooks` offers judges the subject %j', (message, code) => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-subject-'));
  onTestFinished(() => fs.rmSync(home, { recursive: true }));
  const file = path.join(home, 'COMMIT_EDITMSG');
  fs.writeFileSync(file, message);
  const hook = spawnSync(path.join(root, '.ci/hooks/commit-msg'), [file], { cwd: root, encoding: 'utf8' });
  expect(hook.status, hook.stdout + hook.stderr).toBe(code);
});
