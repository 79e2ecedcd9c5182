import { expect, test } from 'vitest';
import * as ads from '../crash/ads.ts';
import { dice, seed } from '../crash/dice.ts';
import { crash, type Stage } from '../crash/stage.ts';
import * as tracker from '../crash/tracker.ts';
import { everyAct } from '../support/postgres-wire.ts';

const vendor = { dialect: 'vendor' } as const;
const contract = { dialect: 'contract' } as const;

/** `messages`: a few less than the command sends to Postgres. */
const plan: readonly (readonly [name: string, messages: number, open: () => Promise<Stage>])[] = [
  ['the first sync of a tracker', 800, () => tracker.firstSync(vendor)],
  ['a sync that finds changes', 700, () => tracker.laterSync(contract)],
  ['a reconciliation that finds deletions', 105, () => tracker.deletions(vendor)],
  ['a reconciliation that finds issues the account can see now', 165, () => tracker.sightings(contract)],
  ['a full sync', 790, () => tracker.fullSync(vendor)],
  ['a first command, with its migrations', 1_050, () => tracker.firstCommand(contract)],
  ['the first sync of the ads', 880, () => ads.firstSync(contract)],
  ['a sync of the ads that finds changes', 950, () => ads.laterSync(vendor)],
];

// At any message; `npm run test:crash` goes to every one that can make a difference.
test.for(plan)(
  '%s, killed twice, loses nothing, and the next run completes it',
  async ([, messages, open]) => {
    const next = dice(messages);
    const cut = (length: number) =>
      ({ n: 1 + Math.floor(next() * length), side: next() < 0.5 ? 'before' : 'after' }) as const;
    const first = cut(messages);
    const stage = await open();
    try {
      const { wrong, kills } = await crash(stage, [first, cut(messages - first.n)], everyAct);
      expect(wrong, `CRASH_SEED=${seed}`).toEqual([]);
      // The second run may need fewer messages than the first one had left.
      expect(kills, `kills of CRASH_SEED=${seed}: does it send ${messages} messages?`).toBeGreaterThan(0);
    } finally {
      await stage.close();
    }
  },
);
