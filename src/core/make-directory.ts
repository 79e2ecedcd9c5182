import fs from 'node:fs';
import path from 'node:path';

/**
 * Makes a directory, with those above it, unless it exists. Node's own `recursive` never ends where the system says ENOENT of a parent that
 * exists, as it does in /proc. Throws the system's error.
 */
export function makeDirectory(directory: string, mode = 0o777): void {
  if (fs.existsSync(directory)) return;
  makeDirectory(path.dirname(directory), mode);
  try {
    fs.mkdirSync(directory, { mode });
  } catch (error) {
    // Another process may just have made it.
    if (!fs.existsSync(directory)) throw error;
  }
}
