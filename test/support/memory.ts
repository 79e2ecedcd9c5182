import fs from 'node:fs';

/** A file system in memory, as Linux has it. */
const inMemory = '/dev/shm';
/** What a run's data comes to at the most, and what the rest of the run needs beside it. */
const mostData = 6 * 1024 ** 3;
const mostElse = 4 * 1024 ** 3;

/**
 * Where the data of a run's server belongs: in memory where there is plenty, else where `otherwise` says. A test run makes and removes files by the
 * hundred thousand; on a disk that alone takes an eighth of its time.
 */
export function placeOfData(otherwise: string): string {
  try {
    const { bavail, bsize } = fs.statfsSync(inMemory);
    return bavail * bsize >= mostData && process.availableMemory() >= mostData + mostElse
      ? inMemory
      : otherwise;
  } catch {
    return otherwise; // no Linux
  }
}
