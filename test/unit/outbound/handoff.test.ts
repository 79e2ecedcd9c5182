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
beforeEach(() => database.warehouse.pool.query('truncate ops.handoffs'));

/** An engine in memory that can lose answers: what it started it has started. */
interface Double extends Engine {
  readonly runs: {
    readonly dag: string;
    readonly params: string;
    readonly runId: string;
    state: EngineRun['state'];
  }[];
  /** What happens to the next starts: the answer is lost behind the start, or the start never arrives. */
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
      const all = double.runs.filter((run) => run.dag === dag && (!takesIds || run.runId === runId));
      const last = all.at(-1);
      return (
        last && {
          runId: takesIds ? last.runId : undefined,
          state: last.state,
          label: last.state,
          params: last.params,
          startedAt: new Date(),
        }
      );
    },
  };
  return double;
}

const { signal } = new AbortController();
const due = () => database.warehouse.pool.query('update ops.handoffs set next_at = clock_timestamp()');
const driven = async (to: Engine): Promise<void> => {
  await due();
  await advanceHandoffs(database.warehouse.db, to, signal);
};
/** So much time has gone by here. */
const later = (minutes: number) =>
  database.warehouse.pool.query(
    `update ops.handoffs set starting_at = starting_at - $1 * interval '1 minute', changed_at = changed_at - $1 * interval '1 minute'`,
    [minutes],
  );
const stored = async () =>
  (
    await database.warehouse.pool.query(
      'select status, engine_status, error from ops.handoffs order by handoff_id',
    )
  ).rows;
const intended = (wait: boolean, runKey = '7') =>
  enqueueHandoff(
    database.warehouse.db,
    { pipeline: 'nightly', runKey, ofAll: true },
    { dag: 'reports', wait, params: { WHO: 'the board' } },
  );

describe.each([true, false])('handing over to an engine that takes run ids: %s', (takesIds) => {
  test('a run is handed over once, with its parameters, however often it is intended', async () => {
    const to = engine(takesIds);
    await intended(false);
    await intended(false);
    await driven(to);
    await driven(to);
    expect(to.runs).toMatchObject([
      {
        dag: 'reports',
        params: expect.stringMatching(
          /^RUN_ID=7 TO=2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z WHO="the board"$/,
        ),
        runId: expect.stringMatching(/^tidemark-nightly-7-[0-9a-f]{12}$/),
      },
    ]);
    expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
  });

  test('a start whose answer is lost is not repeated blindly', async () => {
    const to = engine(takesIds);
    to.faults.push('answer lost');
    await intended(false);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'starting' }]);
    await driven(to);
    expect(to.faults).toEqual([]);
    expect(to.runs).toHaveLength(1);
    expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
  });

  test('a start that never arrived is repeated', async () => {
    const to = engine(takesIds);
    to.faults.push('never arrived');
    await intended(false);
    await driven(to);
    await later(5);
    await driven(to);
    expect(to.starts).toBe(2);
    expect(to.runs).toHaveLength(1);
    expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
  });

  test('its end is waited for and stored where that is asked', async () => {
    const to = engine(takesIds);
    await intended(true);
    await driven(to);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started', engine_status: 'active' }]);
    const [run] = to.runs;
    if (run !== undefined) run.state = 'failed';
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'failed', engine_status: 'failed' }]);
    await driven(to);
    expect(to.starts).toBe(1);
  });

  test('a DAG that is not there is a failure at once', async () => {
    const to = engine(takesIds);
    to.faults.push('no such dag');
    await intended(false);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'failed', error: 'reports is not there' }]);
  });
});

test('without run ids, a cut-off start behind which somebody else’s run is seen is left to people', async () => {
  const to = engine(false);
  to.faults.push('never arrived');
  await intended(false);
  await driven(to);
  to.runs.push({ dag: 'reports', params: 'RUN_ID=70', runId: '', state: 'active' });
  await driven(to);
  expect(await stored()).toMatchObject([
    { status: 'unknown', error: expect.stringContaining('is not known') },
  ]);
  expect(to.starts).toBe(1);
});

/** An engine without run ids whose newest run is the one given, and which takes every start. */
const showing = (newest: () => Partial<EngineRun> | undefined): Engine & { starts: number } => {
  const shown: Engine & { starts: number } = {
    starts: 0,
    takesRunId: async () => false,
    start: async () => {
      shown.starts += 1;
      return { runId: undefined };
    },
    status: async () => {
      const run = newest();
      return (
        run && {
          runId: undefined,
          state: 'active',
          label: '',
          params: undefined,
          startedAt: undefined,
          ...run,
        }
      );
    },
  };
  return shown;
};

test.each([
  { clock: 'tells whole seconds', shift: (now: number) => Math.floor(now / 1000) * 1000 - 1000 },
  { clock: 'is a minute slow', shift: (now: number) => now - 60_000 },
])('a start whose answer is lost is not repeated where the engine’s clock $clock', async ({ shift }) => {
  let startedAt: Date | undefined;
  const to = showing(() => startedAt && { startedAt });
  const { start } = to;
  to.start = async (...how) => {
    await start(...how);
    startedAt = new Date(shift(Date.now()));
    throw new Transient('cut off');
  };
  await intended(false);
  await driven(to);
  await driven(to);
  expect(to.starts).toBe(1);
  expect(await stored()).toMatchObject([{ status: 'unknown' }]);
});

test('without run ids, a start that is put off because another run began just now is asked for again', async () => {
  const to = showing(() => ({ startedAt: new Date(Date.now() - 60_000) }));
  const { start } = to;
  to.start = async (...how) => {
    const answer = await start(...how);
    if (to.starts === 1)
      throw new Transient('it is running', { cause: new Refused('it is running', 409, []) });
    return answer;
  };
  await intended(false);
  await driven(to);
  await driven(to);
  expect(to.starts).toBe(2);
  expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
});

test('an engine that is away when a run is to be handed over has not been asked for anything: it is handed over when it is back', async () => {
  const to = showing(() => ({
    state: 'succeeded',
    params: 'RUN_ID=6',
    startedAt: new Date(Date.now() - 86_400_000),
  }));
  const { takesRunId } = to;
  to.takesRunId = async () => {
    throw new Unreachable('the engine cannot be reached');
  };
  await intended(false);
  await driven(to);
  expect(await stored()).toMatchObject([{ status: 'pending', error: 'the engine cannot be reached' }]);
  to.takesRunId = takesRunId;
  await driven(to);
  expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
  expect(to.starts).toBe(1);
});

test.each([
  ['cannot be reached', new Unreachable('it is off'), 1],
  ['answers late, and with errors,', new Transient('it is ill'), 3],
])(
  'an engine that %s does not keep anybody: what became due meanwhile comes the next time',
  async (_, error, times) => {
    let asked = 0;
    const to: Engine = {
      ...engine(true),
      takesRunId: async () => {
        asked += 1;
        if (asked > 9) throw new Error('for ever');
        // It takes its time: the others are to be asked again by now.
        await database.warehouse.pool.query(
          `update ops.handoffs set next_at = clock_timestamp() where next_at < clock_timestamp() + interval '1 minute' and error is not null`,
        );
        throw error;
      },
    };
    for (const runKey of ['7', '8', '9']) await intended(false, runKey);
    await driven(to);
    expect(asked).toBe(times);
  },
);

test('a DAG that is busy for long is not given up: it is started when it is free', async () => {
  const to = showing(() => ({
    state: 'active',
    params: 'RUN_ID=6',
    startedAt: new Date(Date.now() - 3_600_000),
  }));
  const { start } = to;
  to.start = async (...how) => {
    const answer = await start(...how);
    if (to.starts <= 30)
      throw new Transient('it is running', { cause: new Refused('it is running', 409, []) });
    return answer;
  };
  await intended(false);
  for (let look = 0; look < 31; look += 1) await driven(to);
  expect(to.starts).toBe(31);
  expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
});

describe.each([-3, 3])('without run ids, at an engine whose clock is %s hours off', (hours) => {
  const shifted = (at: number) => new Date(at + hours * 3_600_000);
  let newest: Partial<EngineRun> | undefined;
  const to = showing(() => newest && { ...newest, answeredAt: shifted(Date.now()) });
  const start = to.start;

  test('a start whose answer is lost is not repeated', async () => {
    to.starts = 0;
    to.start = async (...how) => {
      await start(...how);
      newest = { startedAt: shifted(Date.now()) };
      throw new Transient('cut off');
    };
    await intended(false);
    await driven(to);
    await driven(to);
    await later(5);
    await driven(to);
    expect(to.starts).toBe(1);
    expect(await stored()).toMatchObject([{ status: 'unknown' }]);
  });

  test('the end that is waited for is that of the run that began when ours was started', async () => {
    newest = { state: 'failed', startedAt: shifted(Date.now() - 3_600_000) };
    to.start = start;
    await intended(true);
    await driven(to);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started' }]);
    newest = { state: 'succeeded', startedAt: shifted(Date.now()) };
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
  });
});

test('without run ids, a start that was cut off is looked for some minutes before it is repeated: it may show late', async () => {
  let newest: Partial<EngineRun> | undefined;
  const to = showing(() => newest);
  const { start } = to;
  to.start = async (...how) => {
    await start(...how);
    throw new Transient('cut off');
  };
  await intended(false);
  await driven(to);
  await later(2);
  await driven(to);
  expect(await stored()).toMatchObject([{ status: 'starting', error: 'cut off' }]);
  newest = { params: 'RUN_ID=7' };
  await driven(to);
  expect(await stored()).toMatchObject([{ status: 'succeeded', error: null }]);
  expect(to.starts).toBe(1);
});

test.each([
  ['says that it is too busy', new RateLimited('slow down')],
  ['cannot be reached', new Unreachable('it is off')],
])(
  'without run ids, a start at an engine that %s has started nothing, and is not looked for',
  async (_, error) => {
    const to = showing(() => ({ startedAt: new Date() }));
    const { start } = to;
    to.start = async (...how) => {
      const answer = await start(...how);
      if (to.starts === 1) throw error;
      return answer;
    };
    await intended(false);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'pending', error: error.message }]);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'succeeded' }]);
    expect(to.starts).toBe(2);
  },
);

describe('an end that is waited for is not waited for without end', () => {
  test.each([true, false])(
    'where the DAG is gone for more than a moment, and run ids are taken: %s',
    async (takesIds) => {
      const to = engine(takesIds);
      await intended(true);
      await driven(to);
      const { status } = to;
      to.status = async (dag) => {
        throw new Missing(`${dag} is not there`, 404);
      };
      await driven(to);
      expect(await stored()).toMatchObject([
        { status: 'started', error: expect.stringContaining('at the moment') },
      ]);
      to.status = status;
      await driven(to);
      expect(await stored()).toMatchObject([{ status: 'started', error: null }]);
      to.status = async () => undefined;
      await driven(to);
      await later(10);
      await driven(to);
      expect(await stored()).toMatchObject([
        { status: 'unknown', error: 'the engine no longer knows the run' },
      ]);
    },
  );

  test.each<[string, Partial<EngineRun>, RegExp]>([
    ['it never begins', { params: 'RUN_ID=6', startedAt: new Date(0) }, /has not begun the run within a day/],
    [
      'nobody knows the word for how it stands',
      { params: 'RUN_ID=7', state: 'unknown', label: 'lila' },
      /says "lila"/,
    ],
  ])('where %s', async (_, newest, told) => {
    const to = showing(() => newest);
    await intended(true);
    await driven(to);
    await later(23 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started' }]);
    await later(60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'unknown', error: expect.stringMatching(told) }]);
  });

  test('where the engine lets nobody in any more, who then asks rarely', async () => {
    const to = engine(true);
    await intended(true);
    await driven(to);
    to.status = async () => {
      throw new AuthFailed('the token has expired');
    };
    await driven(to);
    const wait =
      'select extract(epoch from next_at - clock_timestamp())::float8 as seconds from ops.handoffs';
    expect((await database.warehouse.pool.query(wait)).rows[0].seconds).toBeGreaterThan(500);
    await later(6 * 24 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started', error: 'the token has expired' }]);
    await later(24 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'unknown', error: 'the token has expired' }]);
  });

  test('where a start was cut off and the engine says nothing but errors since', async () => {
    const to = engine(false);
    to.faults.push('never arrived');
    await intended(true);
    await driven(to);
    to.status = async () => {
      throw new Transient('it is ill');
    };
    await later(6 * 24 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'starting', error: 'it is ill' }]);
    await later(24 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'unknown', error: 'it is ill' }]);
  });

  test('but a run that is under way is, for days', async () => {
    const to = showing(() => ({ params: 'RUN_ID=7' }));
    await intended(true);
    await driven(to);
    await later(3 * 24 * 60);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started', error: null }]);
  });
});

describe('without run ids, the end that is waited for is that of our run', () => {
  test('a run that ended before ours began is not taken for it', async () => {
    let newest: Partial<EngineRun> = {
      state: 'succeeded',
      params: 'RUN_ID=6',
      startedAt: new Date(Date.now() - 86_400_000),
    };
    const to = showing(() => newest);
    await intended(true);
    await driven(to);
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'started' }]);
    newest = { state: 'failed', label: 'failed', params: '{"RUN_ID": "7"}', startedAt: new Date() };
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'failed', engine_status: 'failed' }]);
  });

  test('nor is one of somebody else that came behind it', async () => {
    const to = showing(() => ({ state: 'succeeded', params: 'RUN_ID=70', startedAt: new Date() }));
    await intended(true);
    await driven(to);
    await driven(to);
    expect(await stored()).toMatchObject([
      { status: 'unknown', error: expect.stringContaining('is not known') },
    ]);
  });
});

describe('where the engine tells ids, takes none and tells no parameters, the end that is waited for', () => {
  const seen: { runId: string; state: EngineRun['state'] }[] = [];
  beforeEach(() => void seen.splice(0));
  const to: Engine = {
    takesRunId: async () => false,
    start: async () => {
      seen.push({ runId: 'x1', state: 'active' });
      return { runId: 'x1' };
    },
    status: async () => {
      const last = seen.at(-1);
      return last && { ...last, label: last.state, params: undefined, startedAt: new Date() };
    },
  };

  test('is that of the run of the id that the start told', async () => {
    await intended(true);
    await driven(to);
    seen.splice(0, 1, { runId: 'x1', state: 'failed' });
    await driven(to);
    expect(await stored()).toMatchObject([{ status: 'failed' }]);
    expect(await handoffsOf(database.warehouse.db, ['7'])).toMatchObject([{ dagRunId: 'x1' }]);
  });

  test('is that of this run also where the engine writes its parameters in a way that nobody knows', async () => {
    await intended(true);
    const masked: Engine = {
      ...to,
      status: async (...how) => {
        const there = await to.status(...how);
        return there && { ...there, params: '***' };
      },
    };
    await driven(masked);
    seen.splice(0, 1, { runId: 'x1', state: 'succeeded' });
    await driven(masked);
    expect(await stored()).toMatchObject([{ status: 'succeeded', error: null }]);
  });

  test('is not that of one that came behind it', async () => {
    await intended(true);
    await driven(to);
    seen.push({ runId: 'x2', state: 'succeeded' });
    await driven(to);
    expect(await stored()).toMatchObject([
      { status: 'unknown', error: expect.stringContaining('under another id') },
    ]);
  });
});

test('no two runs are one to the engine, whatever they are called here, and none has a longer id than it takes', async () => {
  const to = engine(true);
  const long = 'nightly-sync-0b7c1b6e-8a4c-4a55-9a51-2f1d0c0e9b11';
  for (const runKey of ['a.b', 'a:b', long, `${long}-2`]) await intended(false, runKey);
  await driven(to);
  await database.warehouse.pool.query('truncate ops.handoffs');
  // A new warehouse counts its runs from the beginning, beside an engine that remembers those of the old one.
  await intended(false, 'a.b');
  await driven(to);
  expect(to.runs).toHaveLength(5);
  for (const { runId } of to.runs) expect(runId).toMatch(/^tidemark-nightly-[\w-]{1,47}$/);
});

test('a hand-off that a signal cuts short goes on later, is done once, and nothing else is said of it', async () => {
  const to = engine(true);
  const ending = new AbortController();
  const hangs: Engine = {
    ...to,
    start: (dag, how, until) =>
      new Promise((_, reject) => {
        void to.start(dag, how, until);
        until.addEventListener('abort', () => reject(until.reason), { once: true });
        ending.abort(new Interrupted('told to end'));
      }),
  };
  await intended(false);
  await expect(advanceHandoffs(database.warehouse.db, hangs, ending.signal)).rejects.toThrow('told to end');
  await driven(to);
  expect(to.runs).toHaveLength(1);
  expect(await stored()).toMatchObject([{ status: 'succeeded', error: null }]);
});

test('a run whose process died behind its success is handed over later, older ones are not', async () => {
  await database.warehouse.pool.query(`
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x');
    insert into ops.runs (pipeline, source_id, kind, status, epoch, finished_at)
      select 'tracker', source_id, 'sync', 'succeeded', 1, now() - at from ops.sources,
        unnest(array[interval '3 days', interval '5 hours', interval '1 hour']) at`);
  const { db } = database.warehouse;
  await enqueueMissedHandoff(db, 'tracker', { dag: 'reports' });
  await enqueueMissedHandoff(db, 'tracker', { dag: 'reports' });
  const { rows } = await database.warehouse.pool.query(
    'select run_key::bigint = (select max(run_id) from ops.runs) as newest from ops.handoffs',
  );
  expect(rows).toEqual([{ newest: true }]);
});

test('a run of some streams or a replay is not handed over later, though it is newer than what was missed', async () => {
  const { db, pool } = database.warehouse;
  await pool.query(`truncate ops.runs cascade;
    insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x') on conflict do nothing;
    insert into ops.runs (pipeline, source_id, kind, status, params, epoch, finished_at)
      select 'tracker', source_id, v.kind, status, params::jsonb, 1, now() from ops.sources, (values
        ('sync', 'partly_failed', '{"streams": null}'), ('sync', 'succeeded', '{"streams": ["projects"]}'),
        ('full', 'succeeded', '{"streams": ["projects"]}'), ('replay', 'succeeded', '{"replay": {}}')) v (kind, status, params) where name = 'tracker'`);
  await enqueueMissedHandoff(db, 'tracker', { dag: 'reports' });
  expect((await pool.query('select run_key from ops.handoffs')).rows).toEqual([]);
});

describe('FROM and TO tell what follows us which rows changed', () => {
  const query = (text: string) => database.warehouse.pool.query(text).then(({ rows }) => rows);
  beforeEach(() =>
    query(`truncate ops.runs cascade;
      insert into ops.sources (name, kind, base_url) values ('tracker', 'tracker', 'http://x'), ('ads', 'ads', 'http://y')
        on conflict do nothing`),
  );
  /** A run from one minute to another of a day. */
  const ran = async (
    from: string,
    to: string | null,
    status = 'succeeded',
    pipeline = 'tracker',
  ): Promise<string> => {
    const [row] =
      await query(`insert into ops.runs (pipeline, source_id, kind, status, epoch, started_at, finished_at)
      select '${pipeline}', source_id, 'sync', '${status}', 1, '2026-11-20 ${from}Z', ${to === null ? 'null' : `'2026-11-20 ${to}Z'`}
      from ops.sources where name = '${pipeline}' returning run_id::text`);
    return row.run_id;
  };
  const window = async (pipeline: string, runKey: string, ofAll = false): Promise<string> => {
    await enqueueHandoff(database.warehouse.db, { pipeline, runKey, ofAll }, { dag: 'reports' });
    const [row] = await query(`select params from ops.handoffs where run_key = '${runKey}'`);
    return row.params
      .replace(`RUN_ID=${runKey} `, '')
      .replaceAll('2026-11-20T', '')
      .replaceAll('.000000Z', '');
  };

  test('the first covers everything, the next begin where the last ended, to the microsecond', async () => {
    expect(await window('tracker', await ran('02:00', '02:10'))).toBe('FROM=02:00:00 TO=02:10:00');
    expect(await window('tracker', await ran('03:00', '03:10:00.000001'))).toBe(
      'FROM=02:10:00 TO=03:10:00.000001Z',
    );
    expect(await window('tracker', await ran('04:00', '04:10'))).toBe('FROM=03:10:00.000001Z TO=04:10:00');
  });

  test('what runs in between changed that were not handed over is within', async () => {
    await window('tracker', await ran('02:00', '02:10'));
    await ran('03:00', '03:10', 'partly_failed');
    expect(await window('tracker', await ran('04:00', '04:10'))).toBe('FROM=02:10:00 TO=04:10:00');
  });

  test('a run that was at work when the last was handed over is within from its beginning; other pipelines are not', async () => {
    await ran('01:00', '06:00', 'succeeded', 'ads');
    await window('tracker', await ran('02:00', '02:10'));
    expect(await window('tracker', await ran('03:00', '03:10'))).toBe('FROM=02:10:00 TO=03:10:00');
    await query(`insert into ops.handoffs (pipeline, run_key, dag, params, remote_run_id, wait, changed_to)
      values ('nightly', 'n1', 'reports', '', '', false, '2026-11-20 02:30Z')`);
    expect(await window('nightly', 'n2', true)).toMatch(/^FROM=01:00:00 TO=/);
  });

  test('what a hand-off was to bring that the engine never took is within the next one that it takes', async () => {
    const to = engine(true);
    const handed = async (run: string, fault?: 'no such dag'): Promise<string> => {
      if (fault !== undefined) to.faults.push(fault);
      const params = await window('tracker', run);
      await driven(to);
      return params;
    };
    expect(await handed(await ran('02:00', '02:10'))).toBe('FROM=02:00:00 TO=02:10:00');
    expect(await handed(await ran('03:00', '03:10'), 'no such dag')).toBe('FROM=02:10:00 TO=03:10:00');
    expect(await handed(await ran('04:00', '04:10'), 'no such dag')).toBe('FROM=02:10:00 TO=04:10:00');
    expect(await handed(await ran('05:00', '05:10'))).toBe('FROM=02:10:00 TO=05:10:00');
    expect(await handed(await ran('06:00', '06:10'))).toBe('FROM=05:10:00 TO=06:10:00');
    expect(to.runs).toHaveLength(3);
  });

  test('a run tells what it was handed over to, and what became of it', async () => {
    const runId = await ran('02:00', '02:10');
    await window('tracker', runId);
    const to = engine(true);
    to.faults.push('no such dag');
    await driven(to);
    expect((await run(database.warehouse.db, runId))?.handoffs).toEqual([
      {
        dag: 'reports',
        dagRunId: expect.stringMatching(`^tidemark-tracker-${runId}-[0-9a-f]{12}$`),
        params: expect.stringContaining('FROM='),
        status: 'failed',
        engineStatus: null,
        error: 'reports is not there',
        changedAt: expect.any(Date),
      },
    ]);
  });
});
