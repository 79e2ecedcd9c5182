import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Forbidden, TooOld, Transient } from '../../../src/core/errors.ts';
import { streamStates } from '../../../src/queries/freshness.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type Fact, type Lab, makeFacts, openLab } from './facts.ts';

let database: TestDatabase;
let lab: Lab;

beforeEach(async () => {
  database = await testDatabase();
  await makeFacts(database.warehouse);
  lab = openLab(database.warehouse);
  lab.owners = [owner('a'), owner('b')];
  lab.facts = [
    ...['2026-01-05', '2026-03-31', '2026-06-20', '2026-06-27', '2026-06-29'].map((day) => fact('a', day)),
    ...['2026-02-01', '2026-06-28'].map((day) => fact('b', day)),
  ];
});
afterEach(() => database.drop());

const owner = (id: string, more: object = {}) => ({
  id,
  status: 'ACTIVE',
  budget: '10',
  updatedAt: 1n,
  ...more,
});
const fact = (who: string, day: string, more: Partial<Fact> = {}): Fact => ({
  owner: who,
  day,
  name: 'ad',
  spend: '9007199254.740993',
  clicks: 1,
  ...more,
});
const moveTo = (day: string): void => {
  lab.now = new Date(`${day}T02:00:00Z`);
  lab.asked.length = 0;
};
const rows = async (query: string): Promise<readonly string[]> =>
  (await database.warehouse.pool.query<{ line: string }>(query)).rows.map(({ line }) => line);
/** The source's day up to which freshness says that the facts are complete. */
const staleSince = async (): Promise<string | undefined> => {
  const states = await streamStates(database.warehouse.db);
  const at = states.find(({ stream }) => stream === 'facts')?.freshAt?.toISOString();
  const walks = await rows(`select source_clock::date::text as line from ops.walks
    where stream = 'facts' and date_trunc('milliseconds', opened_at) = '${at}'`);
  return walks[0];
};
const stored = () =>
  rows(
    `select concat_ws(' ', owner, day, name, nth, spend, clicks) as line from lab.facts order by owner, day, name, nth`,
  );
const rowsOf = (all: readonly Fact[]): readonly string[] =>
  all
    .map(({ owner: who, day, name, spend, clicks }) =>
      [who, day, name, 0, spend, clicks ?? []].flat().join(' '),
    )
    .sort((a, b) => (a < b ? -1 : 1));
const revisions = () =>
  rows(`select concat_ws(' ', owner, day, metric, coalesce(old_value::text, 'none'), coalesce(new_value::text, 'none')) as line
    from lab.revisions order by owner, day, metric`);

/** From now on the reports of the owner fail. */
const failing = (who: string, error: Error = new Transient('the report failed')): void => {
  lab.answer = ({ partition }) => {
    if (partition?.owner === who) throw error;
  };
};
/** The same facts with other numbers of one day. */
const restate = (day: string, more: Partial<Fact>): void => {
  lab.facts = lab.facts.map((one) => (one.day === day ? { ...one, ...more } : one));
};

describe('facts by day', () => {
  test('the first run reads all of history in pieces that the server allows, every exact number of it', async () => {
    lab = Object.assign(openLab(database.warehouse, { longest: 30 }), {
      owners: lab.owners,
      facts: lab.facts,
    });
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(rowsOf(lab.facts));
    expect(lab.notes, 'the warning of a statement after the read').toContain(
      'facts: ad spent 9007199254.740993',
    );
    expect(
      lab.asked
        .filter((line) => line.startsWith('a'))
        .toSorted()
        .reverse(),
    ).toEqual([
      'a 2026-05-31/2026-06-30',
      'a 2026-05-01/2026-05-31',
      'a 2026-04-01/2026-05-01',
      'a 2026-03-02/2026-04-01',
      'a 2026-01-31/2026-03-02',
      'a 2026-01-01/2026-01-31',
    ]);
    expect(await revisions()).toEqual([]);
  });

  test('a night reads the last days again, once a week two weeks, once a month three months', async () => {
    await lab.run();
    moveTo('2026-07-01');
    await lab.run();
    expect(lab.asked.sort()).toEqual(['a 2026-06-28/2026-07-01', 'b 2026-06-28/2026-07-01']);
    moveTo('2026-07-08');
    await lab.run();
    // A day late: as far back as it would have been read on the seventh.
    expect(lab.asked).toContain('a 2026-06-23/2026-07-08');
    moveTo('2026-07-09');
    await lab.run();
    expect(lab.asked).toContain('a 2026-07-06/2026-07-09');
    moveTo('2026-07-31');
    await lab.run();
    expect(lab.asked.filter((line) => line.startsWith('a')).sort()[0]).toMatch(/^a 2026-05-01/);
  });

  test('a history that is shorter than what is read again is read whole each night', async () => {
    lab = openLab(database.warehouse, { start: new Date('2026-06-25T00:00:00Z') });
    lab.owners = [owner('a')];
    await lab.run();
    moveTo('2026-07-01');
    await lab.run();
    expect(lab.asked).toEqual(['a 2026-06-25/2026-07-01']);
  });

  test('after weeks of standing still the next run reads all that was missed', async () => {
    await lab.run();
    lab.facts.push(fact('a', '2026-07-03'), fact('b', '2026-07-20'));
    moveTo('2026-07-22');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(lab.asked).toContain('a 2026-06-23/2026-07-22');
    expect(await stored()).toEqual(rowsOf(lab.facts));
  });

  test('a restated, a late and a removed row leave revisions, the first row of a day and an equal number none', async () => {
    await lab.run();
    const states = () => rows('select (xmin::text || _run_id) as line from lab.facts order by 1');
    const before = await states();
    moveTo('2026-06-30');
    expect(await lab.run()).toMatchObject({ counts: { inserted: 0, updated: 0, unchanged: 3 + 2 } });
    expect(await states()).toEqual(before);
    restate('2026-06-29', { spend: '9007199254.740994', clicks: null });
    lab.facts = lab.facts.filter((one) => one.day !== '2026-06-28');
    lab.facts.push(fact('a', '2026-06-29', { name: 'late' }), fact('a', '2026-06-30'));
    moveTo('2026-07-01');
    expect(await lab.run()).toMatchObject({ status: 'succeeded', deleted: 1 });
    expect(await stored()).toEqual(rowsOf(lab.facts));
    expect((await revisions()).toSorted()).toEqual([
      'a 2026-06-29 clicks 1 none',
      'a 2026-06-29 clicks none 1',
      'a 2026-06-29 spend 9007199254.740993 9007199254.740994',
      'a 2026-06-29 spend none 9007199254.740993',
      'b 2026-06-28 clicks 1 none',
      'b 2026-06-28 spend 9007199254.740993 none',
    ]);
  });

  test('a row whose restatement is rejected stays, without a revision; a row that the source no longer has is removed', async () => {
    const more = ['ad', 'ad', 'gone', 'late'].map((name, i) =>
      fact('a', '2026-06-29', { name, clicks: i + 10 }),
    );
    lab.facts = [...lab.facts.filter(({ day }) => day !== '2026-06-29'), ...more];
    await lab.run();
    moveTo('2026-07-01');
    lab.facts = lab.facts
      .filter(({ name, clicks }) => name !== 'gone' && clicks !== 11)
      .map((one) => (one.name === 'late' ? { ...one, spend: 'NaN' } : one));
    expect(await lab.run()).toMatchObject({ status: 'succeeded', deleted: 2, counts: { rejected: 1 } });
    expect((await stored()).filter((line) => line.includes('2026-06-29'))).toEqual([
      'a 2026-06-29 ad 0 9007199254.740993 10',
      'a 2026-06-29 late 0 9007199254.740993 13',
    ]);
    expect((await revisions()).filter((line) => line.includes(' clicks ')).sort()).toEqual([
      'a 2026-06-29 clicks 11 none',
      'a 2026-06-29 clicks 12 none',
    ]);
  });

  test('a new owner’s history is read from its beginning', async () => {
    await lab.run();
    lab.owners.push(owner('c'));
    lab.facts.push(fact('c', '2026-01-02'), fact('c', '2026-06-30'));
    moveTo('2026-07-01');
    await lab.run();
    expect(await stored()).toEqual(rowsOf(lab.facts));
    moveTo('2026-07-02');
    await lab.run();
    expect(lab.asked).toContain('c 2026-06-29/2026-07-02');
    expect(lab.asked).toHaveLength(3);
  });

  test('the checkpoint waits for an owner that is closed; the others are read, and it is read from the closed days on', async () => {
    const watermark = async () =>
      (await rows(`select watermark::date::text as line from ops.checkpoints where stream = 'facts'`))[0];
    await lab.run();
    expect(await watermark()).toBe('2026-06-30');
    failing('b', new Forbidden('b is not yours'));
    lab.facts.push(fact('a', '2026-06-30'), fact('b', '2026-06-30'));
    restate('2026-06-28', { clicks: 7 });
    moveTo('2026-07-01');
    const closed = await lab.run();
    expect(closed.streams.find(({ stream }) => stream === 'facts')).toMatchObject({ status: 'forbidden' });
    expect((await stored()).length).toBe(8);
    moveTo('2026-07-02');
    lab.facts.push(fact('a', '2026-07-01'));
    await lab.run();
    expect(lab.asked).toContain('a 2026-06-29/2026-07-02');
    expect(await watermark()).toBe('2026-06-30');
    expect(await staleSince()).toBe('2026-06-30');
    lab.answer = () => undefined;
    moveTo('2026-07-03');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(rowsOf(lab.facts));
    expect(await watermark()).toBe('2026-07-03');
    expect(await staleSince()).toBe('2026-07-03');
  });

  test('while one owner fails for weeks the others are read on schedule, and it is read from where it failed', async () => {
    await lab.run();
    const ofB = async () => (await stored()).filter((line) => line.startsWith('b'));
    const before = await ofB();
    failing('b');
    restate('2026-06-28', { clicks: 5 });
    const ofOthers: string[][] = [];
    for (let day = 1; day <= 9; day += 1) {
      moveTo(`2026-07-0${day}`);
      lab.facts.push(fact('a', `2026-07-0${day}`), fact('b', `2026-07-0${day}`));
      // Who comes meanwhile is read whole, and from then on as the others are.
      if (day === 4) {
        lab.owners.push(owner('c'));
        lab.facts.push(fact('c', '2026-01-02'), fact('c', '2026-07-03'));
      }
      expect(await lab.run()).toMatchObject({ status: 'partly_failed' });
      ofOthers.push(lab.asked.filter((line) => line.startsWith('a')));
    }
    expect(ofOthers.slice(3)).toEqual([
      ['a 2026-07-01/2026-07-04'],
      ['a 2026-07-02/2026-07-05'],
      ['a 2026-07-03/2026-07-06'],
      ['a 2026-06-23/2026-07-07'],
      ['a 2026-07-05/2026-07-08'],
      ['a 2026-07-06/2026-07-09'],
    ]);
    expect(await ofB()).toEqual(before);
    expect((await stored()).filter((line) => !line.startsWith('b'))).toEqual(
      rowsOf(lab.facts.filter((one) => one.owner !== 'b' && one.day !== '2026-07-09')),
    );
    lab.answer = () => undefined;
    moveTo('2026-07-10');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(rowsOf(lab.facts));
  });

  test('while one owner fails, an owner that opens and late facts are read', async () => {
    const joined = `select id as owner, timestamptz '2026-06-20' as since from lab.owners
      where source_id = $1 and status = 'LATE' and _synced_at > $2::timestamptz and $3::timestamptz > '2026-06-20'`;
    lab = Object.assign(openLab(database.warehouse, { joined }), {
      owners: ['a', 'b', 'c'].map((id) => owner(id)),
      facts: lab.facts,
    });
    await lab.run();
    lab.answer = ({ partition }) => {
      if (partition?.owner === 'b') throw new Transient('the report failed');
      if (partition?.owner === 'c' && lab.now < new Date('2026-07-06')) throw new Forbidden('c is not yours');
    };
    const night = async (day: string): Promise<readonly string[]> => {
      moveTo(day);
      await lab.run();
      return lab.asked.filter((line) => !line.startsWith('b'));
    };
    for (const day of ['01', '02', '03', '04']) await night(`2026-07-${day}`);
    lab.owners = [owner('a', { status: 'LATE', updatedAt: 2n }), owner('b'), owner('c')];
    expect(await night('2026-07-05')).toContain('a 2026-06-20/2026-07-05');
    expect((await night('2026-07-06')).toSorted()).toEqual([
      'a 2026-07-03/2026-07-06',
      'c 2026-06-28/2026-07-06',
    ]);
    expect((await night('2026-07-08')).filter((line) => line.startsWith('c'))).toEqual([
      'c 2026-06-23/2026-07-08',
    ]);
  });

  test('an owner that failed or was closed and is no owner any more is not asked for again, and the run is well', async () => {
    await lab.run();
    lab.owners.push(owner('c'));
    lab.answer = ({ partition }) => {
      if (partition?.owner === 'b') throw new Forbidden('b is not yours');
      if (partition?.owner === 'c') throw new Transient('the report failed');
    };
    moveTo('2026-07-01');
    expect(await lab.run()).toMatchObject({ status: 'partly_failed' });
    lab.owners = [owner('a')];
    lab.facts.push(fact('a', '2026-07-01'));
    moveTo('2026-07-02');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(lab.asked.filter((line) => !line.startsWith('a'))).toEqual([]);
    expect(await staleSince()).toBe('2026-07-02');
    expect(await stored()).toEqual(rowsOf(lab.facts));
    expect(await rows(`select status as line from ops.walks where status = 'open'`)).toEqual([]);
    // It is back, and read whole.
    lab.owners.push(owner('c'));
    lab.facts.push(fact('c', '2026-01-02'));
    lab.answer = () => undefined;
    moveTo('2026-07-03');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(await stored()).toEqual(rowsOf(lab.facts));
  });

  test('days that the source no longer has are passed by', async () => {
    lab = Object.assign(openLab(database.warehouse, { longest: 30 }), { owners: [owner('a')] });
    let gone = 0;
    lab.answer = ({ window }) => {
      if (window?.to !== undefined && window.to < new Date('2026-03-01T00:00:00Z')) {
        gone += 1;
        throw new TooOld('the source has forgotten these days');
      }
    };
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(gone).toBeGreaterThan(0);
    expect(await rows(`select status as line from ops.walks where status = 'open'`)).toEqual([]);
    moveTo('2026-07-01');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
  });

  test('a backfill reads the days it was given and moves no watermark', async () => {
    await lab.run();
    const checkpoints = () =>
      rows('select concat(stream, watermark, full_at) as line from ops.checkpoints order by 1');
    const before = await checkpoints();
    restate('2026-03-31', { clicks: 3 });
    restate('2026-06-29', { clicks: 4 });
    moveTo('2026-07-05');
    expect(await lab.backfill('2026-03-30', '2026-04-02')).toMatchObject({ status: 'succeeded' });
    expect(lab.asked.sort()).toEqual(['a 2026-03-30/2026-04-02', 'b 2026-03-30/2026-04-02']);
    expect(
      await rows(
        `select clicks::text as line from lab.facts where day in ('2026-03-31', '2026-06-29') order by day`,
      ),
    ).toEqual(['3', '1']);
    expect(await checkpoints()).toEqual(before);
  });

  /** A source of the same owners and facts that is restricted in this way. */
  const openSelection = (scope: string): void => {
    const { owners, facts } = lab;
    lab = Object.assign(openLab(database.warehouse, { scope, longest: 30 }), { owners, facts });
  };
  const chosenAnew = 'facts: everything is read again: what is to be read was configured anew';

  test('a selection that begins with "forced" is not taken for a forced read of another one', async () => {
    openSelection('forced clicks');
    failing('b');
    expect(await lab.run()).toMatchObject({ status: 'partly_failed' });
    openSelection('clicks');
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(lab.asked.filter((line) => line.startsWith('a'))).toHaveLength(6);
    expect(await rows("select selection as line from ops.checkpoints where selection <> ''")).toEqual([
      'clicks',
    ]);
    expect(await rows("select forced::text as line from ops.walks where stream = 'facts'")).toEqual([
      'false',
      'false',
    ]);
  });

  test('a selection may contain any text, and another one is read anew', async () => {
    for (const scope of ['clicks', 'clicks\nread by edition 1; ', 'clicks\nread by edition 2; day']) {
      openSelection(scope);
      expect(await lab.run()).toMatchObject({ status: 'succeeded' });
      expect(lab.asked).toHaveLength(12);
      expect(lab.notes.filter((note) => note.includes('read again'))).toEqual(
        scope === 'clicks' ? [] : [chosenAnew],
      );
      lab.asked.length = 0;
      await lab.run();
      expect(lab.asked).toHaveLength(2);
    }
  });

  test('snapshots are of the present day only, each in its own rows', async () => {
    lab = openLab(database.warehouse, { oldest: 0, present: true, start: new Date('2000-01-01T00:00:00Z') });
    lab.owners = [owner('a')];
    lab.facts = [fact('a', '2026-06-30', { clicks: 1 })];
    await lab.run();
    expect(lab.asked).toEqual(['a 2026-06-30/2026-07-01']);
    lab.facts.push(fact('a', '2026-07-01', { clicks: 2 }));
    moveTo('2026-07-01');
    await lab.run();
    expect(lab.asked).toEqual(['a 2026-07-01/2026-07-02']);
    expect(await stored()).toEqual(rowsOf(lab.facts));
  });

  test('slices with more rows than are read at once are halved at midnight and cover every day once', async () => {
    lab = openLab(database.warehouse, { rows: async ({ window }) => spanOf(window) * 3_000, longest: 90 });
    lab.owners = [owner('a')];
    lab.facts = Array.from({ length: 60 }, (_, i) =>
      fact('a', new Date(Date.UTC(2026, 3, 1 + i)).toISOString().slice(0, 10)),
    );
    expect(await lab.run()).toMatchObject({ status: 'succeeded' });
    expect(lab.asked.length).toBeGreaterThan(20);
    expect(await stored()).toEqual(rowsOf(lab.facts));
  });
});

const spanOf = (window: { readonly from?: Date; readonly to?: Date } | undefined): number =>
  ((window?.to?.getTime() ?? 0) - (window?.from?.getTime() ?? 0)) / 86_400_000;

describe('listings larger than a batch', () => {
  const many = (): Fact[] =>
    Array.from({ length: 6_000 }, (_, i) =>
      fact('a', '2026-06-29', { name: `ad ${i % 2_000}`, clicks: Math.floor(i / 2_000) }),
    );
  beforeEach(() => {
    lab = Object.assign(openLab(database.warehouse, {}, 1_000), { owners: [owner('a')], facts: many() });
  });

  test('are loaded in one piece, and leave nothing where they fail half-way', async () => {
    expect(await lab.run()).toMatchObject({
      status: 'succeeded',
      counts: { inserted: 6_001, deduplicated: 0 },
    });
    expect(
      await rows(
        `select concat(count(*), ' ', count(distinct name), ' ', max(nth), ' ', sum(clicks), ' ', count(distinct xmin::text)) as line from lab.facts`,
      ),
      'rows that repeat a key are numbered by their content',
    ).toEqual(['6000 2000 2 6000 1']);
    lab.facts.reverse();
    moveTo('2026-07-01');
    expect(await lab.run()).toMatchObject({ counts: { inserted: 0, updated: 0, unchanged: 6_001 } });
    const before = await stored();
    let fired = 0;
    lab.facts = many().map((one, i) => (i < 5_200 ? { ...one, clicks: 99 } : one));
    Object.defineProperty(lab.facts[5_500], 'spend', {
      get: () => {
        fired += 1;
        throw new Transient('cut off');
      },
    });
    expect(await lab.run()).toMatchObject({ status: 'partly_failed' });
    expect(fired).toBe(1);
    expect(await stored()).toEqual(before);
    lab.facts = many().slice(3_000);
    expect(await lab.run()).toMatchObject({ deleted: 3_000 });
    expect(await rows('select sum(clicks)::text as line from lab.facts')).toEqual([
      String(lab.facts.reduce((sum, { clicks }) => sum + (clicks ?? 0), 0)),
    ]);
  });

  test('with more rejects than a run bears leave the rejects, and nothing else', async () => {
    lab.facts = many().map((one, i) => (i < 150 ? { ...one, name: `${one.name} \0` } : one));
    expect(await lab.run()).toMatchObject({ status: 'failed', error: { code: 'too_many_rejects' } });
    expect(await rows(`select count(*)::text as line from ops.rejects where status = 'open'`)).toEqual([
      '150',
    ]);
    expect(await stored()).toEqual([]);
    expect(
      await rows(`select received || ' ' || rejected as line from ops.run_streams where stream = 'facts'`),
    ).toEqual(['150 150']);
    lab.facts = many();
    expect(await lab.run()).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } });
    expect(await rows(`select distinct status as line from ops.rejects`)).toEqual(['resolved']);
    const before = await stored();
    lab.facts = many().slice(0, 200);
    lab.facts = lab.facts.map((one, i) => ({
      ...one,
      clicks: 99,
      name: i < 20 ? `${one.name} \0` : one.name,
    }));
    expect(await lab.run()).toMatchObject({ status: 'failed', counts: { rejected: 20 } });
    expect(await stored(), 'the same of a single batch').toEqual(before);
  });
});

describe('lists that are the truth about their entities', () => {
  const live = () => rows('select id as line from lab.owners where _deleted_at is null order by 1');

  test('what they no longer show is tombstoned until it is shown again; a bad version is no absence', async () => {
    await lab.run();
    lab.owners = [owner('a')];
    expect(await lab.run()).toMatchObject({ status: 'succeeded', deleted: 1 });
    expect(await live()).toEqual(['a']);
    lab.owners.push(owner('b'));
    await lab.run();
    expect(await live()).toEqual(['a', 'b']);
    lab.owners = [owner('a'), owner('b', { budget: 'NaN' })];
    expect(await lab.run()).toMatchObject({ status: 'succeeded', deleted: 0, counts: { rejected: 1 } });
    expect(await live()).toEqual(['a', 'b']);
  });

  test('more than 20 and 5 % at once are not believed', async () => {
    lab.owners = Array.from({ length: 60 }, (_, i) => owner(`o${i}`));
    lab.facts = [];
    await lab.run();
    lab.owners = lab.owners.slice(0, 39);
    const report = await lab.run();
    expect(report.streams.find(({ stream }) => stream === 'owners')).toMatchObject({
      status: 'partial',
      reason:
        'owners: the list, of 39 records, would have removed unbelievably many rows; nothing was removed',
    });
    expect((await live()).length).toBe(60);
    lab.owners.push(owner('o39'));
    expect(await lab.run()).toMatchObject({ deleted: 20 });
  });

  test('every version of what the source forgets is kept, dated by the source', async () => {
    const versions = () =>
      rows(`select concat_ws(' ', id, status, coalesce(budget::text, 'none'), extract(epoch from valid_from)::bigint,
        coalesce(extract(epoch from valid_to)::bigint::text, 'now')) as line from lab.owner_versions where id = 'a' order by valid_from`);
    const second = 1_000_000n;
    lab.owners = [owner('a', { updatedAt: 100n * second })];
    await lab.run();
    lab.owners = [owner('a', { budget: '12.5', updatedAt: 200n * second })];
    await lab.run();
    await lab.run();
    lab.owners = [owner('a', { budget: null, status: 'PAUSED', updatedAt: 300n * second })];
    await lab.run();
    expect(await versions()).toEqual([
      'a ACTIVE 10 100 200',
      'a ACTIVE 12.5 200 300',
      'a PAUSED none 300 now',
    ]);
  });
});
