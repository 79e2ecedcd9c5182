/** Loaded before a process: at each SIGUSR2 its clock is off by what the file `CHAOS_CLOCK` says, ms, and the file goes. */

import fs from 'node:fs';

const real = Date;
let off = 0;
process.on('SIGUSR2', () => {
  const file = process.env.CHAOS_CLOCK ?? '';
  off = Number(fs.readFileSync(file, 'utf8'));
  fs.rmSync(file);
});

const now = (): number => real.now() + off;
globalThis.Date = new Proxy(real, {
  construct: (target, args, made) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, made === Date ? target : made),
  apply: () => new real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
