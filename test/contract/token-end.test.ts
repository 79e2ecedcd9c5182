/**
 * A token whose end is known warns from 14 days before. The vendor's API tokens live a year at most and no answer says when they end: that is
 * configured. Data Center lists personal access tokens with `expiringAt`.
 */
import { expect, test } from 'vitest';
import type { Fault } from '../../simulators/shared/faults.ts';
import { known, summary } from '../../src/queries/summary-text.ts';
import { testRig } from '../support/rig.ts';

const lists = { streams: ['boards'] };
const listed = (...tokens: readonly object[]): Fault => ({
  name: 'tokens',
  answer: (answer) => ({
    ...answer,
    status: 200,
    headers: { ...answer.headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(tokens)),
  }),
});

test('a run warns of the end that is configured, from 14 days before, and the status says it after the run', async () => {
  const rig = await testRig({ dialect: 'vendor' });
  const { db } = rig.database.warehouse;
  const state = async (): Promise<string> => {
    const { lead, rest } = summary(await known(db, ['tracker']), rig.tracker.clock.now());
    return `${lead} ${rest}`;
  };
  const warnings = async (day: string) => {
    const from = rig.events.length;
    const settings = { apiTokenExpires: new Date(day) };
    expect(await rig.sync(lists, { settings })).toMatchObject({ status: 'succeeded' });
    return rig.events
      .slice(from)
      .flatMap((event) => (event.type === 'note' && event.level === 'warn' ? event.message : []));
  };
  expect(await warnings('2026-03-30')).toEqual([]);
  expect(await state()).not.toContain('the token');
  const ends = 'the token ends on 2026-03-20, in 10 days: make a new one before';
  expect(await warnings('2026-03-20')).toEqual([ends]);
  expect(await state()).toContain(`tracker: ${ends}.`);
  expect(await rig.sync(lists)).toMatchObject({ status: 'succeeded' });
  expect(await state()).not.toContain('the token');
});

test.each([
  ['the token that was used last', [], 'in 4 days'],
  ['no list of tokens', undefined, undefined],
  ['no end', [{ id: 3, lastAccessed: '2026-03-10T08:59:00.000+0000', name: 'for ever' }], undefined],
])('Data Center says when a personal access token ends: %s', async (_, more, said) => {
  const rig = await testRig({ dialect: 'data-center' });
  const { script } = rig.tracker;
  const old = {
    id: 1,
    lastAccessed: '2025-03-01T00:00:00.000+0000',
    expiringAt: '2026-03-11T00:00:00.000+0000',
  };
  const own = {
    id: 2,
    lastAccessed: '2026-03-10T08:00:00.000+0000',
    expiringAt: '2026-03-14T00:00:00.000+0000',
  };
  const rule =
    more && script.at({ match: ({ path }) => path === '/rest/pat/latest/tokens' }, listed(old, own, ...more));
  expect(await rig.sync(lists, { settings: { isPersonal: true } })).toMatchObject({ status: 'succeeded' });
  expect(rule?.fired ?? 1).toBe(1);
  const warned = rig.events.filter(
    (event) => event.type === 'note' && event.message.includes('the token ends'),
  );
  expect(warned).toMatchObject(
    said === undefined ? [] : [{ message: expect.stringContaining(said), level: 'warn' }],
  );
});
