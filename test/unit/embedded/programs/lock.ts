import { tryExclusive } from '../../../../src/embedded/locks.ts';

/** `lock.ts <file>`: takes the lock twice, and says what came of each: `held`, `busy` or why it cannot be locked. */
const [file = ''] = process.argv.slice(2);
const answers = [1, 2].map(() => {
  try {
    return tryExclusive(file) === undefined ? 'busy' : 'held';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
});
console.log(JSON.stringify(answers));
