#!/usr/bin/env node
// The command `tidemark`. Plain JavaScript that old versions of Node can read, up to a clear message: Tidemark is
// TypeScript that only Node 24 and newer run without a build. On an older Node the pinned copy that `npm ci` installs
// runs it, and this process passes signals and the exit code on.
// biome-ignore-all lint/style/useNodejsImportProtocol: Node before 14.18 does not know `node:`
// biome-ignore-all lint/complexity/useOptionalChain: nor does Node before 14 know `?.`
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import * as modules from 'module';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';
import { getHeapSpaceStatistics, setFlagsFromString } from 'v8';

const needed = 24;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
// The package holds compiled JavaScript, and no Node: its users bring one.
const isRepository = existsSync(join(root, 'src', 'main.ts'));
const isWindows = process.platform === 'win32';
const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`;
// The copies of Node that package.json pins for this platform.
const pinned = [`${name}/bin/node${isWindows ? '.exe' : ''}`, '.bin/node']
  .map((file) => join(root, 'node_modules', file))
  .find((file) => existsSync(file));

if (Number(process.versions.node.split('.')[0]) >= needed) run();
else if (pinned) startPinned(pinned);
else
  quit(
    `it needs Node ${needed} or newer; this is ${process.version}` +
      (isRepository
        ? `, and the pinned copy is not installed. In ${root} run: npm ci (without --omit=optional), or install Node from https://nodejs.org`
        : '. Install it from https://nodejs.org'),
  );

function run() {
  // Where the process that started this one on an older Node is killed, this one must end too.
  if (process.send && process.env.TIDEMARK_SHADOW === String(process.ppid)) {
    delete process.env.TIDEMARK_SHADOW;
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
    if (process.channel) process.channel.unref();
  }
  // Compiled code is kept between starts (a third of the start-up time), not in the common temporary folder: it is run.
  if (modules.enableCompileCache)
    modules.enableCompileCache(join(root, 'node_modules', '.cache', 'tidemark'));
  enlargeNursery();
  // The heap stays small: what a sync makes is garbage after one page (120 MB less at the peak, measured by the bench).
  setFlagsFromString('--heap-growing-percent=60');
  import(isRepository ? './main.ts' : '../dist/src/main.js')
    .then((found) => found.main())
    .catch((error) => {
      if (isRepository && !existsSync(join(root, 'node_modules', 'kysely')))
        return quit(`In ${root} run: npm ci`);
      console.error(error);
      process.exitCode = 1;
    });
}

// The nursery holds the pages under way: of the 1 MB that V8 begins with, most of a page would move on to the old
// generation before it is garbage (a fifth of the CPU time of a first sync). V8 takes its size from the command line
// only, but lets it grow by a factor when what is in it survives: so something survives, once, and then the factor is 1.
function enlargeNursery() {
  const bytes = 8 * 1048576;
  const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
  const survivors = [];
  setFlagsFromString('--semi-space-growth-factor=8');
  // Four rounds as a rule (6 ms); a V8 that does not grow is left as it is.
  for (let round = 0; round < 64 && size() < bytes; round += 1)
    for (let i = 0; i < 1000; i += 1) survivors.push(new Array(16).fill(i));
  setFlagsFromString('--semi-space-growth-factor=1');
}

function startPinned(node) {
  // A group of its own: Ctrl-C in a terminal reaches every process of a group, and a second signal means "now".
  const child = spawn(node, process.execArgv.concat(process.argv.slice(1)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: !isWindows,
    env: Object.assign({}, process.env, { TIDEMARK_SHADOW: String(process.pid) }),
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'].concat(isWindows ? [] : 'SIGWINCH');
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => quit(`the pinned Node ${node} does not start (${error.message})`));
  child.on('exit', (code, signal) => {
    process.exitCode = code;
    if (!signal) return;
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function quit(message) {
  console.error(`tidemark cannot start: ${message}`);
  process.exitCode = 2;
}
