import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine, EngineRun } from '../../../src/core/dag-engine.ts';
import {
  AuthFailed,
  Interrupted,
  Missing,
  RateLimited,
  Refused,
  Transient,
  Unreachable,
} from '../../../src/core/errors.ts';
import { advanceHandoffs } from '../../../src/outbound/handoff.ts';
import { enqueueHandoff, enqueueMissedHandoff } from '../../../src/outbound/handoff-queue.ts';
import { handoffsOf, run } from '../../../src/queries/run-history.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(() => query('truncate ops.handoffs'));

/** An engine in memory that can lose answers: what it started it has started. */
interface Double extends Engine {
  readonly runs: { dag: string; params: string; runId: string; state: EngineRun['state'] }[];
  /** What happens to the next starts: the answer is lost after the start, or the start never arrives. */
  readonly faults: ('answer lost' | 'never arrived' | 'no such dag')[];
  starts: number;
}

function engine(takesIds: boolean): Double {
  const double: Double = {
    runs: [],
    faults: [],
    starts: 0,
    takesRunId: async () => takesIds,
    start: async (dag, { params, runId }) => {
      double.starts += 1;
      const fault = double.faults.shift();
      if (fault === 'no such dag') throw new Missing(`${dag} is not there`, 404);
      if (fault === 'never arrived') throw new Transient('cut off');
      if (!takesIds || !double.runs.some((run) => run.runId === runId))
        double.runs.push({ dag, params, runId, state: 'active' });
      if (fault === 'answer lost') throw new Transient('cut off');
      return { runId: takesIds ? runId : undefined };
    },
    status: async (dag, runId) => {
      const last = double.runs.findLast((run) => run.dag === dag && (!takesIds || run.runId === runId));
      const id = takesIds ? last?.runId : undefined;
      return last && { ...last, runId: id, label: last.state, startedAt: new Date() };
    },
  };
  return double;
}

/** An engine without run ids whose newest run is the one given; `onStart` may throw, by the count of starts. */
function showing(newest: () => Partial<EngineRun> | undefined, onStart: (starts: number) => void = () => {}) {
  const unknown = { runId: undefined, state: 'active', label: '', params: undefined } as const;
  const shown = {
    starts: 0,
    takesRunId: async () => false,
    start: async () => {
      shown.starts += 1;
      onStart(shown.starts);
      return { runId: undefined };
    },
    status: async () => {
      const run = newest();
      return run && { ...unknown, startedAt: undefined, ...run };
    },
  };
  return shown;
}

const { signal } = new AbortController();
/** Steps of every hand-off. */
const driven = async (to: Engine, steps = 1): Promise<void> => {
  for (let step = 0; step < steps; step++) {
    await query('update ops.handoffs set next_at = clock_timestamp()');
    await advanceHandoffs(database.warehouse.db, to, signal);
  }
};
/** A step of every hand-off this many minutes later. */
const later = async (minutes: number, to: Engine): Promise<void> => {
  const ago = `- interval '${minutes} minutes'`;
  await query(`update ops.handoffs set starting_at = starting_at ${ago}, changed_at = changed_at ${ago}`);
  await driven(to);
};
const day = 24 * 60;
const query = (text: string) => database.warehouse.pool.query(text).then(({ rows }) => rows);
const stored = () => query('select status, engine_status, error from ops.handoffs order by handoff_id');
/** Checks the only hand-off. */
const becomes = async (expected: { status: string; engine_status?: string; error?: unknown }) =>
  expect(await stored()).toMatchObject([expected]);
/** One hand-off and some steps of it. */
const handed = async (to: Engine, { wait = false, steps = 1 } = {}): Promise<void> => {
  await intended(wait);
  await driven(to, steps);
};
const intended = (wait: boolean, runKey = '7') =>
  enqueueHandoff(
    database.warehouse.db,
    { pipeline: 'nightly', runKey, ofAll: true },
    { dag: 'reports', wait, params: { WHO: 'the board' } },
  );
const cutOff = () => {
  throw new Transient('cut off');
};
const ago = (ms: number) => new Date(Date.now() - ms);

describe.each([true, false])('an engine that takes run ids (%s)', (takesIds) => {
  test('starts the DAG once, with its parameters, however often the run is queued', async () => {
    const to = engine(takesIds);
    for (let times = 0; times < 2; times++) await intended(false);
    await driven(to, 2);
    const params = /^RUN_ID=7 TO=2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z WHO="the board"$/;
    const runId = expect.stringMatching(/^tidemark-nightly-7-[0-9a-f]{12}$/);
    expect(to.runs).toMatchObject([{ dag: 'reports', params: expect.stringMatching(params), runId }]);
    await becomes({ status: 'succeeded' });
  });

  test.each([
    { fault: 'answer lost', is: 'not repeated blindly', minutes: 0, starts: takesIds ? 2 : 1 },
    { fault: 'never arrived', is: 'repeated', minutes: 5, starts: 2 },
  ] as const)('a start: $fault, is $is', async ({ fault, minutes, starts }) => {
    const to = engine(takesIds);
    to.faults.push(fault);
    await handed(to);
    await becomes({ status: 'starting' });
    await later(minutes, to);
    expect([to.faults, to.starts, to.runs.length]).toEqual([[], starts, 1]);
    await becomes({ status: 'succeeded' });
  });

  test('is asked for the end of the run where that is wanted', async () => {
    const to = engine(takesIds);
    await handed(to, { wait: true, steps: 2 });
    await becomes({ status: 'started', engine_status: 'active' });
    for (const run of to.runs) run.state = 'failed';
    await driven(to, 2);
    await becomes({ status: 'failed', engine_status: 'failed' });
    expect(to.starts).toBe(1);
  });

  test('is waited for only some minutes where it no longer shows the run', async () => {
    const to = engine(takesIds);
    await handed(to, { wait: true });
    const { status } = to;
    to.status = async () => {
      throw new Missing('reports is not there', 404);
    };
    await driven(to);
    await becomes({ status: 'started', error: expect.stringContaining('at the moment') });
    to.status = status;
    await driven(to);
    await becomes({ status: 'started', error: null });
    to.status = async () => undefined;
    await driven(to);
    await later(10, to);
    await becomes({ status: 'unknown', error: 'the engine no longer knows the run' });
  });
});

describe('without run ids, a start whose answer is lost', () => {
  test.each([
    { clock: 'gives whole seconds', shift: (now: number) => Math.floor(now / 1000) * 1000 - 1000 },
    { clock: 'is a minute slow', shift: (now: number) => now - 60_000 },
    { clock: 'is three hours slow', shift: (now: number) => now - 3 * 3_600_000, answers: true },
    { clock: 'is three hours fast', shift: (now: number) => now + 3 * 3_600_000, answers: true },
  ])('is not repeated where the clock of the engine $clock', async ({ shift, answers }) => {
    const at = () => new Date(shift(Date.now()));
    let startedAt: Date | undefined;
    const to = showing(
      () => startedAt && { startedAt, ...(answers && { answeredAt: at() }) },
      () => {
        startedAt = at();
        cutOff();
      },
    );
    await handed(to, { steps: 2 });
    expect(to.starts).toBe(1);
    await becomes({ status: 'unknown', error: expect.stringContaining('is not known') });
  });

  test('is looked for some minutes before it is repeated: it may show late', async () => {
    let newest: Partial<EngineRun> | undefined;
    const to = showing(() => newest, cutOff);
    await handed(to);
    await later(2, to);
    await becomes({ status: 'starting', error: 'cut off' });
    newest = { params: 'RUN_ID=7' };
    await driven(to);
    await becomes({ status: 'succeeded', error: null });
    expect(to.starts).toBe(1);
  });
});

const away = async () => {
  throw new Unreachable('it is off');
};
test.each([
  ['the engine is too busy', 1, new RateLimited('slow down')],
  ['the engine cannot be reached', 1, new Unreachable('it is off')],
  ['the DAG is busy', 30, new Transient('it runs', { cause: new Refused('it runs', 409, []) })],
])('without run ids, a start that started nothing is sent again: %s', async (_, failures, error) => {
  const to = showing(
    () => (failures === 1 ? { startedAt: new Date() } : { params: 'RUN_ID=6', startedAt: ago(60_000) }),
    (starts) => {
      if (starts <= failures) throw error;
    },
  );
  await handed({ ...to, takesRunId: away });
  await becomes({ status: 'pending', error: 'it is off' });
  expect(to.starts).toBe(0);
  await driven(to, failures);
  await becomes({ status: 'pending', error: error.message });
  await driven(to);
  await becomes({ status: 'succeeded' });
  expect(to.starts).toBe(failures + 1);
});

test.each([
  ['cannot be reached', new Unreachable('it is off'), 1],
  ['answers with errors', new Transient('it is ill'), 3],
])(
  'an engine that %s is not asked without end: what becomes due comes the next time',
  async (_, error, times) => {
    let asked = 0;
    const to: Engine = {
      ...engine(true),
      takesRunId: async () => {
        asked += 1;
        if (asked > 9) throw new Error('for ever');
        // It takes its time: the others are due again by now.
        await query('update ops.handoffs set next_at = clock_timestamp() where error is not null');
        throw error;
      },
    };
    for (const runKey of ['7', '8', '9']) await intended(false, runKey);
    await driven(to);
    expect(asked).toBe(times);
  },
);

describe('a run is not waited for without end', () => {
  test.each<[string, Partial<EngineRun>, RegExp]>([
    ['it never begins', { params: 'RUN_ID=6', startedAt: new Date(0) }, /has not begun the run within a day/],
    ['its state is unknown', { params: 'RUN_ID=7', state: 'unknown', label: 'lila' }, /says "lila"/],
  ])('where %s', async (_, newest, error) => {
    const to = showing(() => newest);
    await handed(to, { wait: true });
    await later(day - 60, to);
    await becomes({ status: 'started' });
    await later(60, to);
    await becomes({ status: 'unknown', error: expect.stringMatching(error) });
  });

  test.each([
    { after: 'the token was refused', takesIds: true, error: new AuthFailed('the token has expired') },
    { after: 'a start was cut off', takesIds: false, error: new Transient('it is ill') },
  ])('where $after and the engine answers with errors for a week', async ({ takesIds, error }) => {
    const to = engine(takesIds);
    if (!takesIds) to.faults.push('never arrived');
    await handed(to, { wait: true });
    to.status = async () => {
      throw error;
    };
    for (const [days, status] of [
      [6, takesIds ? 'started' : 'starting'],
      [1, 'unknown'],
    ] as const) {
      await later(days * day, to);
      await becomes({ status, error: error.message });
    }
  });

  test('but one that is under way is, for days', async () => {
    const to = showing(() => ({ params: 'RUN_ID=7' }));
    await handed(to, { wait: true });
    await later(3 * day, to);
    await becomes({ status: 'started', error: null });
  });
});

describe('without run ids, the end that is waited for is that of our run', () => {
  const older = { params: 'RUN_ID=6', startedAt: ago(86_400_000) };
  const answeredAt = ago(-3 * 3_600_000);
  const earlier = { startedAt: ago(-2 * 3_600_000), answeredAt };
  test.each<[string, Partial<EngineRun>, Partial<EngineRun>]>([
    ['by its parameters', older, { params: '{"RUN_ID": "7"}' }],
    ['by its age, though the clock is hours off', earlier, { startedAt: answeredAt, answeredAt }],
  ])('%s', async (_, before, ours) => {
    let newest: Partial<EngineRun> = { ...before, state: 'succeeded' };
    const to = showing(() => newest);
    await handed(to, { wait: true, steps: 2 });
    await becomes({ status: 'started' });
    newest = { ...ours, state: 'failed', label: 'failed' };
    await driven(to);
    await becomes({ status: 'failed', engine_status: 'failed' });
  });

  const lost = expect.stringContaining('is not known');
  const since = { state: 'succeeded', startedAt: new Date() } as const;
  test.each<[string, 'x1' | undefined, Partial<EngineRun>, string, unknown]>([
    ['by the id of the start', 'x1', { runId: 'x1', state: 'failed' }, 'failed', null],
    ['by that id with hidden parameters', 'x1', { ...since, runId: 'x1', params: '*' }, 'succeeded', null],
    ['not of a later one with another id', 'x1', { ...since, runId: 'x2' }, 'unknown', lost],
    ['not of one with other parameters', undefined, { ...since, params: 'RUN_ID=70' }, 'unknown', lost],
  ])('%s', async (_, runId, newest, status, error) => {
    const to: Engine = { ...showing(() => newest), start: async () => ({ runId }) };
    await handed(to, { wait: true, steps: 2 });
    await becomes({ status, error });
    if (runId !== undefined)
      expect(await handoffsOf(database.warehouse.db, ['7'])).toMatchObject([{ dagRunId: runId }]);
  });
});

test('every run has an id of its own at the engine, at most 64 characters long', async () => {
  const to = engine(true);
  const long = 'nightly-sync-0b7c1b6e-8a4c-4a55-9a51-2f1d0c0e9b11';
  for (const runKey of ['a.b', 'a:b', long, `${long}-2`]) await intended(false, runKey);
  await driven(to);
  await query('truncate ops.handoffs');
  // A new warehouse counts its runs from the beginning, beside an engine that remembers those of the old one.
  await intended(false, 'a.b');
  await driven(to);
  expect(to.runs).toHaveLength(5);
  for (const { runId } of to.runs) expect(runId).toMatch(/^tidemark-nightly-[\w-]{1,47}$/);
});

test('a hand-off that a signal cuts short goes on later and is done once', async () => {
  const to = engine(true);
  const ending = new AbortController();
  const hangs: Engine = {
    ...to,
    start: (dag, how, until) =>
      new Promise((_, reject) => {
        void to.start(dag, how, until);
        until.addEventListener('abort', () => reject(until.reason), { once: true });
        ending.abort(new Interrupted('asked to end'));
      }),
  };
  await intended(false);
  await expect(advanceHandoffs(database.warehouse.db, hangs, ending.signal)).rejects.toThrow('asked to end');
  await driven(to);
  expect(to.runs).toHaveLength(1);
  await becomes({ status: 'succeeded', error: null });
});

test('a run whose process died after its success is handed over later; older ones, parts and replays are not', async () => {
  const { db } = database.warehouse;
  const missed = () => enqueueMissedHandoff(db, 'tracker', { dag: 'reports' });
  const ran = (values: string) =>
    query(`insert into ops.runs (pipeline, source_id, kind, status, params, epoch, finished_at)
      select 'tracker', source_id, v.kind, status, params::jsonb, 1, now() - at from ops.sources, (values ${values}) v (kind, status, params, at)`);
  await query(`insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x')`);
  await ran(`('sync', 'partly_failed', '{}', interval '0'), ('sync', 'succeeded', '{"streams": ["projects"]}', '0'),
    ('full', 'succeeded', '{"streams": ["projects"]}', '0'), ('replay', 'succeeded', '{"replay": {}}', '0')`);
  await missed();
  expect(await stored()).toEqual([]);
  await ran(`('sync', 'succeeded', '{"streams": null}', interval '3 days'), ('sync', 'succeeded', '{"streams": null}', '5 hours'),
    ('sync', 'succeeded', '{"streams": null}', '1 hour')`);
  for (const _ of [1, 2]) await missed();
  const isNewest = 'select run_key::bigint = (select max(run_id) from ops.runs) as is from ops.handoffs';
  expect(await query(isNewest)).toEqual([{ is: true }]);
});

describe('FROM and TO say which rows changed', () => {
  beforeEach(() =>
    query(`truncate ops.runs, ops.sources cascade;
      insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x'), ('ads', 'ads', 'http://y')`),
  );
  /** A run from one minute to another of a day. */
  const ran = async (from: string, to: string, status = 'succeeded', pipeline = 'tracker') => {
    const [row] =
      await query(`insert into ops.runs (pipeline, source_id, kind, status, epoch, started_at, finished_at)
      select '${pipeline}', source_id, 'sync', '${status}', 1, '2026-11-20 ${from}Z', '2026-11-20 ${to}Z'
      from ops.sources where name = '${pipeline}' returning run_id::text`);
    return row.run_id as string;
  };
  const window = async (pipeline: string, runKey: string, ofAll = false): Promise<string> => {
    await enqueueHandoff(database.warehouse.db, { pipeline, runKey, ofAll }, { dag: 'reports' });
    const [row] = await query(`select params from ops.handoffs where run_key = '${runKey}'`);
    return row.params.replace(`RUN_ID=${runKey} `, '').replaceAll(/2026-11-20T|\.000000Z/g, '');
  };

  test('the first covers everything, the next begin where the last ended, with the runs that failed in between', async () => {
    expect(await window('tracker', await ran('02:00', '02:10'))).toBe('FROM=02:00:00 TO=02:10:00');
    const next = await ran('03:00', '03:10:00.000001');
    expect(await window('tracker', next)).toBe('FROM=02:10:00 TO=03:10:00.000001Z');
    await ran('04:00', '04:10', 'partly_failed');
    expect(await window('tracker', await ran('05:00', '05:10'))).toBe('FROM=03:10:00.000001Z TO=05:10:00');
  });

  test('a run that was active at the last hand-off is included from its beginning; other pipelines are not', async () => {
    await ran('01:00', '06:00', 'succeeded', 'ads');
    await window('tracker', await ran('02:00', '02:10'));
    expect(await window('tracker', await ran('03:00', '03:10'))).toBe('FROM=02:10:00 TO=03:10:00');
    await query(`insert into ops.handoffs (pipeline, run_key, dag, params, remote_run_id, wait, changed_to)
      values ('nightly', 'n1', 'reports', '', '', false, '2026-11-20 02:30Z')`);
    expect(await window('nightly', 'n2', true)).toMatch(/^FROM=01:00:00 TO=/);
  });

  test('changes of a hand-off that the engine never took are in the next one that it takes', async () => {
    const to = engine(true);
    for (const [hour, from, isRefused] of [
      ['02', '02:00', false],
      ['03', '02:10', true],
      ['04', '02:10', true],
      ['05', '02:10', false],
      ['06', '05:10', false],
    ] as const) {
      if (isRefused) to.faults.push('no such dag');
      const params = await window('tracker', await ran(`${hour}:00`, `${hour}:10`));
      expect(params).toBe(`FROM=${from}:00 TO=${hour}:10:00`);
      await driven(to);
    }
    expect(to.runs).toHaveLength(3);
  });

  test('a run shows what it was handed over to, and what became of it', async () => {
    const runId = await ran('02:00', '02:10');
    await window('tracker', runId);
    const to = engine(true);
    to.faults.push('no such dag');
    // An engine that does not know the DAG fails the hand-off at once.
    await driven(to);
    const dagRunId = expect.stringMatching(`^tidemark-tracker-${runId}-[0-9a-f]{12}$`);
    const params = expect.stringContaining('FROM=');
    const failed = { status: 'failed', error: 'reports is not there' };
    const { handoffs } = (await run(database.warehouse.db, runId)) ?? {};
    expect(handoffs).toMatchObject([{ dag: 'reports', dagRunId, params, ...failed }]);
  });
});
