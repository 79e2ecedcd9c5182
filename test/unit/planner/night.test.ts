import { expect, test } from 'vitest';
import type { StreamSize } from '../../../src/core/run.ts';
import { estimated } from '../../../src/planner/estimate.ts';
import type { Past } from '../../../src/planner/history.ts';
import { leastSeconds, planNight, type Tonight } from '../../../src/planner/night.ts';
import { insightsOfMany } from '../../support/many-accounts.ts';

const tonight = (more: Partial<Tonight> = {}): Tonight => ({
  pipeline: 'ads',
  due: new Date('2026-01-02T02:00:00Z'),
  isPart: true,
  perSecond: 0,
  rotatedBy: 'ADS_ROTATE',
  past: undefined,
  streams: [estimated(insightsOfMany, [])],
  ...more,
});

const past: Past = {
  stream: 'insights',
  mode: 'restatement',
  runs: 2,
  slices: 40,
  records: 0,
  expected: null,
  requests: 400,
  seconds: 10,
};

test('a night that is too short says what does not fit, by which limit, and what helps', () => {
  const { fits, findings, pipelines } = planNight([tonight()], 2, 1);
  expect(fits).toBe(false);
  expect(pipelines).toMatchObject([
    { requests: 60_000, seconds: 12_000, limit: 'limit of reports: 5 a second' },
  ]);
  expect(findings).toEqual([
    'ads does not fit into the night: it needs 3 h 20 m of 2 h. insights of 100 ad accounts need 3 h 20 m at 5 requests a second.',
    'What helps ads: read owners in turn (ADS_ROTATE=insights:36000), or read fewer days again each night, or leave to CSV reports what they have, too, or spread the owners over pipelines with credentials of their own, or ask for a higher limit.',
  ]);
});

test('the same night fits where it is longer', () => {
  expect(planNight([tonight()], 8, 1)).toMatchObject({ fits: true, findings: [] });
});

test('parts of nightly that cannot run at once begin one after the other, and may be too many together', () => {
  const { findings, pipelines } = planNight([tonight(), tonight({ pipeline: 'more' })], 5, 1);
  expect(pipelines.map(({ at }) => at?.toISOString())).toEqual([
    '2026-01-02T02:00:00.000Z',
    '2026-01-02T05:20:00.000Z',
  ]);
  expect(findings).toEqual([expect.stringContaining('need 6 h 40 m together, 1 at once')]);
  const both = planNight([tonight(), tonight({ pipeline: 'more' })], 5, 2);
  expect(both).toMatchObject({ fits: true, pipelines: [{ at: both.pipelines[1]?.at }, {}] });
});

test('a stream that reads its owners in turn needs its requests of a night, and says how many nights', () => {
  const inTurn = { ...insightsOfMany, turn: { most: 18_000, of: 'requests' } } as const;
  expect(estimated(inTurn, [])).toMatchObject({ requests: 18_000, seconds: 3_600, nights: 4 });
  expect(planNight([tonight({ streams: [estimated(inTurn, [])] })], 2, 1)).toMatchObject({ fits: true });
});

test('a stream that reads its owners in turn by minutes needs what fits into them, and says how many nights', () => {
  const inTurn = { ...insightsOfMany, turn: { most: 60, of: 'minutes' } } as const;
  expect(estimated(inTurn, [])).toMatchObject({ requests: 18_000, seconds: 3_600, nights: 4 });
  // At the pace of past runs 1,000 requests take 200 s.
  expect(estimated(inTurn, [past])).toMatchObject({ requests: 1_000, seconds: 200 });
  expect(estimated(inTurn, [past])).not.toHaveProperty('nights');
  const quick = { ...inTurn, turn: { most: 1, of: 'minutes' } } as const;
  expect(estimated(quick, [past])).toMatchObject({ requests: 300, seconds: 60, nights: 4 });
});

test('a window that was never read is estimated from how everything was read', () => {
  const whole: Past = { ...past, mode: 'full', records: 2_000, requests: 50, seconds: 100, runs: 1 };
  const window = { stream: 'insights', by: 'changes', mode: 'backfill', slices: 1, records: 1_000 } as const;
  expect(estimated(window, [whole])).toMatchObject({ requests: 25, seconds: 50, basis: 'past runs' });
  expect(estimated({ ...window, mode: 'full' }, [whole])).toMatchObject({ requests: 25, seconds: 50 });
  const own: Past = { ...whole, mode: 'backfill', requests: 80 };
  expect(estimated(window, [whole, own])).toMatchObject({ requests: 40 });
});

test('what past runs needed counts more than what the source lets expect, and grows with the owners', () => {
  const { basis, requests, seconds } = estimated(insightsOfMany, [past]);
  expect({ basis, requests, seconds }).toEqual({ basis: 'past runs', requests: 1_000, seconds: 200 });
});

test('a night of few days is not taken for one of many, where the source says what its pieces need', () => {
  const deep: Past = { ...past, slices: 16, expected: 200, requests: 160 };
  const shallow: StreamSize = { ...insightsOfMany, slices: 8, requests: 25 };
  expect(estimated(shallow, [deep])).toMatchObject({ requests: 20, basis: 'past runs' });
});

test('a stream that was never read like this has no estimate, and is named', () => {
  const boards = { stream: 'boards', by: 'list', mode: 'list', slices: 1 } as const;
  const [plan] = planNight([tonight({ streams: [estimated(boards, [past])] })], 8, 1).pipelines;
  expect(plan).toMatchObject({ requests: 0, seconds: null, unknown: ['boards'] });
});

test('streams that share a limit wait for each other, those without one do not', () => {
  const limited = { requests: 50, perSecond: 5, seconds: 10 };
  expect(leastSeconds([limited, limited])).toBe(20);
  expect(leastSeconds([{ seconds: 10 }, { seconds: 30 }])).toBe(30);
});
