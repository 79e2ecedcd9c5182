#!/usr/bin/env node
// The command `tidemark`. Plain JavaScript that old versions of Node can read, up to a clear message: Tidemark is TypeScript that only
// Node 24 and newer run as it stands. On an older Node the pinned copy that `npm ci` installs takes over, and this process is its shadow.
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

if (Number(process.versions.node.split('.')[0]) >= needed) run();
else shadow();

function run() {
  // Started by a shadow that was killed outright: so are we. For the program that started them the two are one process.
  if (process.send && process.env.TIDEMARK_SHADOW === String(process.ppid)) {
    delete process.env.TIDEMARK_SHADOW;
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
    if (process.channel) process.channel.unref();
  }
  settle();
  import('./main.ts').catch((error) => {
    if (error && error.code === 'ERR_MODULE_NOT_FOUND' && !existsSync(join(root, 'node_modules', 'kysely'))) {
      return quit(`its packages are not installed. In ${root} run: npm ci`);
    }
    console.error(error);
    process.exitCode = 1;
  });
}

// Compiled code is kept between starts (a third of the start-up time), and the heap stays small: what a sync
// makes is garbage after one page, and a larger heap would only hold more of it (120 MB less at the peak, measured by the bench; a smaller one
// costs time).
// The nursery alone is made large enough for the pages under way: of the 1 MB that V8 begins with, most of a page would move on to the
// old generation before it is garbage (a fifth of the CPU time of a first sync).
function settle() {
  // Not in the common temporary folder: what lies in the cache is run.
  if (modules.enableCompileCache)
    modules.enableCompileCache(join(root, 'node_modules', '.cache', 'tidemark'));
  widen();
  setFlagsFromString('--heap-growing-percent=80');
}

// V8 takes the size of its nursery from the command line only, but lets it grow by a factor when what is in it survives: so something
// survives, once, and from then on the factor is 1.
function widen() {
  const megabytes = 8;
  const nursery = () =>
    getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1048576;
  const survivors = [];
  setFlagsFromString(`--semi-space-growth-factor=${megabytes}`);
  // Four rounds as a rule (6 ms); a V8 that does not grow is left as it is.
  for (let round = 0; round < 64 && nursery() < megabytes; round += 1)
    for (let i = 0; i < 1000; i += 1) survivors.push(new Array(16).fill(i));
  setFlagsFromString('--semi-space-growth-factor=1');
}

function shadow() {
  const node = pinned();
  if (!node) {
    return quit(
      `it needs Node ${needed} or newer; this is ${process.version}, and the pinned copy for ${process.platform}-${process.arch} is not installed.\n` +
        `In ${root} run: npm ci   (without --omit=optional or --no-optional)\n` +
        `or install Node ${needed} or newer from https://nodejs.org`,
    );
  }
  // A group of its own: Ctrl-C in a terminal reaches every process of a group, and a second signal means "now".
  const child = spawn(node, process.execArgv.concat(process.argv.slice(1)), {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: process.platform !== 'win32',
    env: Object.assign({}, process.env, { TIDEMARK_SHADOW: String(process.pid) }),
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
  if (process.platform !== 'win32') signals.push('SIGWINCH');
  signals.forEach((signal) => {
    process.on(signal, () => child.kill(signal));
  });
  child.on('error', (error) =>
    quit(
      `the pinned Node ${node} does not start (${error.message}). Install Node ${needed} or newer from https://nodejs.org`,
    ),
  );
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exitCode = code;
  });
}

/** The copy of Node that package.json pins for this platform. */
function pinned() {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  return [join(root, 'node_modules', name, 'bin', file), join(root, 'node_modules', '.bin', file)].find(
    (path) => existsSync(path),
  );
}

function quit(message) {
  console.error(`tidemark cannot start: ${message}`);
  process.exitCode = 2;
}
