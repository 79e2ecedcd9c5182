/**
 * Its own process, started by a command that had to end at once: waits until that one is gone, then opens and releases the embedded
 * warehouses that it used, which stops each server that nothing else uses. Arguments: the process to wait for, then the home directories.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbedded } from '../embedded/embedded.ts';

const [parent, ...homes] = process.argv.slice(2);
const deadline = performance.now() + 10_000;
while (isAlive(Number(parent)) && performance.now() < deadline) await sleep(20);
for (const home of homes) await (await openEmbedded(home, { notice: () => undefined })).release();

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
