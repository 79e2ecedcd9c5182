import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { keepUp } from '../../../src/embedded/supervisor.ts';

/** A cluster whose server notes that it was started, and ends. */
function broken() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-broken-'));
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }));
  for (const name of ['bin', 'log', 'data']) fs.mkdirSync(path.join(directory, name));
  const starts = path.join(directory, 'starts');
  fs.writeFileSync(starts, '');
  fs.writeFileSync(
    path.join(directory, 'bin', 'postgres'),
    `#!/bin/sh\necho once >> '${starts}'\necho 'FATAL: no space left' >&2\nexit 1\n`,
    { mode: 0o755 },
  );
  const cluster = {
    native: { directory, version: '18', complete: true },
    as: undefined,
    data: path.join(directory, 'data'),
    log: path.join(directory, 'log'),
    startLog: path.join(directory, 'start.log'),
  };
  return { directory, cluster, starts: () => fs.readFileSync(starts, 'utf8').split('\n').length - 1 };
}

test.skipIf(process.platform === 'win32')(
  'a server that does not come up is tried more and more rarely, and told of once',
  async () => {
    const { directory, cluster, starts } = broken();
    const said: string[] = [];
    const keeping = keepUp(directory, cluster, 1, { notice: (message) => said.push(message), everyMs: 10 });
    await sleep(900);
    await keeping.end();
    expect(starts()).toBeGreaterThan(1);
    expect(starts()).toBeLessThan(8);
    expect(said).toEqual([expect.stringContaining('no space left')]);
  },
);
