/**
 * Its own process, started by a command that had to end at once: waits until that one is gone, then opens and releases the embedded
 * warehouses that it used, which stops each server that nothing else uses. Arguments: the process to wait for, then the home directories.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbedded } from '../embedded/embedded.ts';

const [parent, ...homes] = process.argv.slice(2);
const deadline = performance.now() + 10_000;
try {
  while (performance.now() < deadline) {
    process.kill(Number(parent), 0);
    await sleep(20);
  }
} catch {
  // It is gone.
}
for (const home of homes) await (await openEmbedded(home, { notice: () => undefined })).release();
