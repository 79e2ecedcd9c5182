// Makes `dist/`, what the package holds: `src`, `simulators` and `pipelines` as JavaScript with types and source maps, and the files that they
// read at run time, in the places where they look for them.
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
execFileSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
for (const name of ['migrations', 'src/server/dashboard/assets', '.env.example', 'package.json'])
  cpSync(join(root, name), join(dist, name), { recursive: true });
