import { describe, expect, test } from 'vitest';
import { type Field, POINTS } from '../../simulators/jira/model.ts';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../simulators/shared/script.ts';
import { issueDifferences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';

const hour = 3_600_000;
const day = 24 * hour;
const streams = { streams: ['projects', 'fields', 'issues'] };
const span = { from: new Date('2025-12-01T00:00:00Z'), to: new Date('2026-04-15T00:00:00Z') };
const plain = '/rest/api/3/field';
const search = '/rest/api/3/field/search';
const always = { times: Number.POSITIVE_INFINITY };
const anyList = { ...always, match: ({ path }: LoggedRequest) => path.startsWith(plain) };
const team = 'customfield_10036';

let rig: Rig;
/** A site whose issues were synced once. */
const synced = async (
  options: TrackerOptions = {},
  prepare: () => unknown = () => undefined,
): Promise<Rig['tracker']> => {
  rig = await testRig({ dialect: 'vendor', issues: 80, ...options });
  prepare();
  await rig.sync(streams);
  return rig.tracker;
};

/** Syncs some time later; says how many issues were read. */
const syncAfter = async (ms: number, status = 'succeeded'): Promise<number> => {
  rig.tracker.clock.advance(ms);
  const report = await rig.sync(streams);
  expect(report).toMatchObject({ status });
  return report.streams.find(({ stream }) => stream === 'issues')?.counts.received ?? 0;
};
const all = (): number => rig.tracker.state.store.size;
const expectEqual = async (bare = false): Promise<void> =>
  expect(await issueDifferences(rig, { bare })).toEqual([]);

const count = async (what: string): Promise<number> =>
  (await rig.rows<{ n: number }>(`select count(*) filter (where ${what})::int as n from tracker.issues`))[0]
    ?.n ?? 0;
const withPoints = () => count('story_points is not null');
const withValue = (id: string) => count(`custom_fields ? '${id}'`);
/** Why everything was read, in all runs so far. */
const reasons = (): readonly string[] =>
  rig.events.flatMap((event) =>
    event.type === 'note' ? (/^issues: everything is read again: (.*)/.exec(event.message)?.[1] ?? []) : [],
  );
/** Takes a custom field out of the site's lists; gives what puts it back. */
const hide = (id: string): (() => void) => {
  const { fields } = rig.tracker.state;
  const field = fields.get(id);
  if (field === undefined) throw new Error(`the site has no ${id}`);
  fields.delete(id);
  return () => fields.set(id, field);
};

describe('a field that comes to mean story points', () => {
  test.each([
    ['vendor', false],
    ['contract', true],
  ] as const)('gives all issues their points (%s, plain list missing: %s)', async (dialect, isMissing) => {
    // Its name alone says what it means.
    const name = (field: Field | undefined, called: string): void => {
      if (field === undefined) throw new Error('the site has no field for points');
      const schema = { ...field.schema, custom: 'float' };
      rig.tracker.state.fields.set(POINTS, { ...field, name: called, schema });
    };
    let field: Field | undefined;
    await synced({ dialect }, () => {
      field = rig.tracker.state.fields.get(POINTS);
      name(field, 'Estimate');
      if (isMissing) rig.tracker.script.at({ endpoint: plain, ...always }, status(404));
    });
    expect(await withPoints()).toBe(0);
    name(field, 'Story Points');
    expect(await syncAfter(3 * day)).toBe(all());
    expect(reasons()).toEqual(['the source has other fields of a kind that decides what its records become']);
    expect(await withPoints()).toBeGreaterThan(0);
    await expectEqual();
    expect(await syncAfter(0)).toBeLessThan(all());
  });
});

test('a run without one or all lists of fields costs no issue a value for long', async () => {
  const { state, clock, script } = await synced();
  for (const [lists, code, result] of [
    [anyList, 403, 'partly_failed'],
    [{ endpoint: plain, ...always }, 404, 'succeeded'],
    [{ endpoint: plain, ...always }, 403, 'succeeded'],
  ] as const) {
    clock.advance(3 * day);
    for (let n = 0; n < all() / 2; n += 1) state.touch(state.store.at(n).id);
    await syncAfter(hour);
    const had = await withPoints();
    state.touch(state.store.at(all() - 1).id);
    const shut = script.at(lists, status(code));
    const read = await syncAfter(25 * hour, result);
    expect(shut.fired).toBeGreaterThan(0);
    if (lists === anyList) {
      expect(read, 'little is read').toBeLessThan(all());
      expect(await withPoints()).toBeLessThan(had);
    }
    shut.cancel();
    await syncAfter(25 * hour);
    expect(await withPoints()).toBe(had);
    await expectEqual();
  }
});

describe('one bad answer to the list of fields costs no issue a value', () => {
  /** A part of the list, as if there were no more. */
  const cutTo = (share: number): Fault => ({
    name: `cut to ${share}`,
    answer: (answer) => {
      const cut = (list: readonly unknown[]) => list.slice(0, Math.floor(list.length * share));
      const list: unknown = JSON.parse(String(answer.body));
      const body = Array.isArray(list) ? cut(list) : { values: cut(Object(list).values), isLast: true };
      return { ...answer, body: Buffer.from(JSON.stringify(body)) };
    },
  });
  const later = { match: ({ query }: LoggedRequest) => query.startAt !== undefined };

  test.each([
    ['404 to the second page', 'vendor', status(404), later],
    ['403 to the second page', 'vendor', status(403), later],
    ['404 to the first page', 'contract', status(404), {}],
    ['an empty list', 'contract', cutTo(0), {}],
  ] as const)('in the first sync: %s (%s)', async (_, dialect, fault, when) => {
    const bare = dialect === 'contract';
    let rule: { readonly fired: number } | undefined;
    await synced({ issues: 30, dialect, bare }, () => {
      rule = rig.tracker.script.at({ endpoint: search, ...when }, fault);
    });
    expect(rule?.fired).toBe(1);
    await expectEqual(bare);
  });

  test.each([
    ['vendor', plain],
    ['contract', search],
  ] as const)('in a later sync of a %s: a list that is empty or cut', async (dialect, endpoint) => {
    const bare = dialect === 'contract';
    const { script, log } = await synced({ dialect, bare });
    for (const share of [0, 0.5]) {
      const rule = script.at({ endpoint }, cutTo(share));
      const from = log.length;
      expect(await syncAfter(day)).toBeLessThan(all());
      expect(rule.fired).toBe(1);
      await expectEqual(bare);
      expect(log.slice(from).filter((one) => one.endpoint === endpoint).length).toBeLessThanOrEqual(6);
    }
  });

  test('a list that stays shorter is confirmed in the first such run alone', async () => {
    const { log } = await synced();
    hide(team);
    const requests: number[] = [];
    for (let run = 0; run < 3; run += 1) {
      const from = log.length;
      await syncAfter(day);
      requests.push(log.slice(from).filter(({ endpoint }) => endpoint === plain).length);
    }
    expect(requests).toEqual([2, 1, 1]);
  });
});

describe('issues that an older program read', () => {
  const leave = async (edition: string, ...columns: readonly string[]): Promise<void> => {
    await rig.rows(`update ops.checkpoints set edition = ${edition} where stream = 'issues'`);
    for (const column of columns) await rig.rows(`update tracker.${column}`);
  };

  test('are read anew once', async () => {
    await synced();
    const values = `custom_fields = '{}', story_points = null, _row_hash = 1`;
    await leave(`''`, `issues set ${values}`);
    await syncAfter(3 * day);
    await expectEqual();
    expect(await syncAfter(0)).toBeLessThan(all());
    expect(reasons()).toEqual(['it now makes more of a record than when it was read']);
  });

  test('are read anew where one list of fields is missing', async () => {
    await synced({}, () => rig.tracker.script.at({ endpoint: plain, ...always }, status(404)));
    await leave(`'edition 1'`, 'issues set status = null, _row_hash = 1');
    await syncAfter(3 * day);
    expect(await count('status is null')).toBe(0);
    expect(await syncAfter(0)).toBeLessThan(all());
  });
});

/** The field that was made last. Without it, a list looks as it did before the field was made. */
const newest = (): string =>
  [...rig.tracker.state.fields.keys()]
    .filter((id) => id.startsWith('customfield_'))
    .toSorted()
    .at(-1) ?? '';

describe('a field that reappears gives all issues its values', () => {
  test.each([false, true])(
    'after a sync without it (a run without any field between: %s)',
    async (isBlind) => {
      let show = (): unknown => undefined;
      await synced({}, () => {
        show = hide(team);
      });
      expect(await withValue(team)).toBe(0);
      const shut = rig.tracker.script.at({ ...anyList, times: isBlind ? Infinity : 0 }, status(403));
      expect(await syncAfter(3 * day, isBlind ? 'partly_failed' : 'succeeded')).toBeLessThan(all());
      shut.cancel();
      show();
      await syncAfter(day);
      expect(await withValue(team)).toBeGreaterThan(0);
      await expectEqual();
      expect(await syncAfter(day)).toBeLessThan(all());
      if (!isBlind) expect(reasons()).toEqual([`${team} came into sight`]);
    },
  );

  test('after a backfill or a full sync without it, or a backfill without any list of fields', async () => {
    const { script } = await synced();
    const made = newest();
    const backfill = () => rig.backfill(span);
    const full = () => rig.sync({ ...streams, full: true });
    const closeLists = () => {
      const shut = script.at(anyList, status(403));
      return () => shut.cancel();
    };
    for (const [values, remove, run] of [
      [() => withValue(team), () => hide(team), backfill],
      [() => withValue(made), () => hide(made), backfill],
      [() => withValue(made), () => hide(made), full],
      [withPoints, closeLists, backfill],
    ] as const) {
      const putBack = remove();
      expect(await run()).toMatchObject({ status: 'succeeded' });
      expect(await values()).toBe(0);
      putBack();
      await syncAfter(day);
      expect(await values()).toBeGreaterThan(0);
      await expectEqual();
      expect(await syncAfter(day)).toBeLessThan(all());
    }
  });

  test('except a new one, for which no issue is read a second time', async () => {
    let show = (): unknown => undefined;
    await synced({}, () => {
      show = hide(newest());
    });
    show();
    expect(await syncAfter(3 * day)).toBeLessThan(all());
    expect(reasons()).toEqual([]);
  });
});

test('a sync makes a view with the custom fields of the site, and adds those that it gets', async () => {
  await synced();
  const { fields } = rig.tracker.state;
  const columns = async () => {
    const { rows } = await rig.database.warehouse.pool.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = 'issues_wide_tracker' order by ordinal_position`,
    );
    return rows.map(({ name }) => name);
  };
  const before = await columns();
  const field = fields.get(team);
  if (field === undefined) throw new Error(`the site has no ${team}`);
  fields.set('customfield_99999', { ...field, id: 'customfield_99999', name: 'Ärger mit Öl' });
  fields.set(team, { ...field, name: 'Renamed' });
  await syncAfter(hour);
  expect(await columns()).toEqual([...before, 'arger_mit_ol']);
  expect(await rig.rows('select 1 from bi.issues_wide_tracker')).toHaveLength(all());
});
