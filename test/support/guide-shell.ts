import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const launcher = fileURLToPath(new URL('../../src/tidemark.js', import.meta.url));

/** A folder in which commands of the guides are run as they are written. */
export interface GuideShell {
  readonly folder: string;
  /** Runs a command and gives what it wrote, standard error included. Throws unless it ends with `code`. */
  run(command: string, code?: number): Promise<string>;
}

/** A new folder, in which `npx tidemark` is this program; removed at the end of the test. Nothing of the tester's environment is seen. */
export function guideShell(env: NodeJS.ProcessEnv): GuideShell {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-guide-'));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  // Where tests run as root, the embedded Postgres is another user, and its data lie here.
  fs.chmodSync(folder, 0o755);
  const bin = path.join(folder, 'bin');
  fs.mkdirSync(bin);
  const npx = `#!/bin/sh\ntest "$1" = tidemark || exit 127\nshift\nexec '${process.execPath}' '${launcher}' "$@"\n`;
  fs.writeFileSync(path.join(bin, 'npx'), npx, { mode: 0o755 });
  const inside = { ...env, PATH: `${bin}:${process.env.PATH}`, HOME: folder };
  return {
    folder,
    async run(command, code = 0) {
      const child = spawn('sh', ['-euc', command], {
        cwd: folder,
        env: inside,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          said += text;
        });
      const [ended] = await once(child, 'close');
      if (ended !== code) throw new Error(`ended with ${ended}, not with ${code}: ${command}\n${said}`);
      return said;
    },
  };
}
