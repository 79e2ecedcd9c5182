import { spawnSync } from 'node:child_process';

export const root = process.getuid?.() === 0;

/** An ordinary user, for tests that are run as root. */
export const user = { uid: 65534, gid: 65534 };

/** False in a checkout that is closed to others: no ordinary user could run it. */
export const open =
  root &&
  spawnSync('/bin/sh', ['-c', 'test -r "$1"', 'sh', process.execPath], { ...user, cwd: '/' }).status === 0;
