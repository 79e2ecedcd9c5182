import fs from 'node:fs';
import path from 'node:path';

/**
 * Makes a directory, and those above it, unless it is there. Node's own `recursive` asks again without end where a file system says ENOENT
 * of a name that cannot be made there, as /proc and automounts do. Throws what the system says. `mode`: as the umask leaves it.
 */
export function makeDirectory(directory: string, mode = 0o777): void {
  const above = path.dirname(directory);
  if (above !== directory && !fs.existsSync(above)) makeDirectory(above, mode);
  try {
    fs.mkdirSync(directory, { mode });
  } catch (error) {
    // Somebody else may have made it just now.
    if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}
