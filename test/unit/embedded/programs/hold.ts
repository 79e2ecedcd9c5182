import { createInterface } from 'node:readline';
import { openEmbedded } from '../../../../src/embedded/embedded.ts';

/** Opens the embedded warehouse of a home, says where it is, and uses it until told `release` (ends well) or `abandon` (just ends, exit 3). */
const embedded = await openEmbedded(process.argv[2] ?? '');
console.log(JSON.stringify({ url: embedded.own, adopted: embedded.adopted, data: embedded.data }));
const words = createInterface({ input: process.stdin });
for await (const word of words) {
  if (word === 'release') await embedded.release();
  if (word === 'abandon') process.exitCode = 3;
  words.close();
  process.stdin.destroy();
}
