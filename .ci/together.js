// Runs lines of a shell beside each other: `node .ci/together.js LINE…`. What a line says is printed when it is over. Where one fails, or a signal
// comes, the others are ended, and the exit code is 1.
import { spawn } from 'node:child_process';
import process from 'node:process';

const running = new Set();

/** Each line is a process group: a signal reaches all that it has started. */
function end() {
  process.exitCode = 1;
  for (const { pid } of running) process.kill(-pid, 'SIGTERM');
}

for (const line of process.argv.slice(2)) {
  const child = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let said = `── ${line}\n`;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  child.on('exit', () => running.delete(child));
  child.on('close', (code) => {
    process.stdout.write(code === 0 ? said : `${said}── failed: ${line}\n`);
    if (code !== 0) end();
  });
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
