import { describe, expect, it } from 'vitest';
import { gzipBomb, status } from '../../../../simulators/shared/faults.ts';
import { AuthFailed, Misconfigured } from '../../../../src/core/errors.ts';
import type { Window } from '../../../../src/core/stream.ts';
import { basic } from '../../../../src/http/auth.ts';
import { readingOf } from '../../../../src/reading/pages.ts';
import { dialects } from '../../../support/small-site.ts';
import { type Opened, opened, readAll } from './opened.ts';

const search = '/rest/api/3/search/jql';

/** The search of a dialect. */
const searchOf = (dialect: string): string => (dialect === 'data-center' ? '/rest/api/2/search' : search);

/** The ids of live, visible issues whose `field` lies in the window, by the simulator's own truth. */
const truth = ({ simulator }: Opened, { field, from, to }: Window): ReadonlySet<string> =>
  new Set(
    [...simulator.oracle().issues.values()].flatMap((issue) => {
      const at = issue[field === 'updated' ? 'updated' : 'created'];
      const isIn = at >= (from?.getTime() ?? -Infinity) && at < (to?.getTime() ?? Infinity);
      return isIn && !issue.deleted && issue.visible ? [issue.id] : [];
    }),
  );

/** A rule for searches whose body fits. */
const searches = (fits: RegExp, dialect = '') => ({
  endpoint: searchOf(dialect),
  times: Infinity,
  match: ({ body }: { readonly body?: unknown }) => fits.test(JSON.stringify(body)),
});

const expectAll = (seen: readonly string[], wanted: ReadonlySet<string>): void => {
  expect(wanted.size).toBeGreaterThan(0);
  const found = new Set(seen);
  expect([...wanted].filter((id) => !found.has(id))).toEqual([]);
};

describe.each(dialects)('a search of the dialect $name', ({ options: { dialect }, bare }) => {
  const options = { dialect, bare };

  it('reads every issue in pages of a hundred, bounded by created and ordered by key, and ids in larger ones', async () => {
    const tracker = await opened(options);
    await tracker.source.preflight(tracker.signal);
    const before = tracker.searches().length;
    const { ids, end, rows } = await tracker.read('issues');
    const wanted = truth(tracker, { field: 'created' });
    expect(new Set(ids)).toEqual(wanted);
    expect(end).toMatchObject({ matched: true, expected: dialect === 'vendor' ? null : ids.length });
    expect(rows).toHaveLength(ids.length);
    const walked = tracker.searches().slice(before);
    expect(walked.length).toBeLessThanOrEqual(4);
    for (const body of tracker.searches()) {
      expect(body.jql).toMatch(/^created >= \S+.* ORDER BY key ASC$/);
      expect(Object.hasOwn(body, 'startAt') && dialect === 'vendor').toBe(false);
    }
    expect(walked.map(({ maxResults }) => maxResults)).toEqual(walked.map(() => 100));
    expect(tracker.simulator.errors).toEqual([]);
    const walk = await tracker.flow('issues').ids?.({}, tracker.signal);
    if (walk === undefined) throw new Error('issues cannot be walked by id');
    expect(walk.first.body).toMatchObject({ fields: ['id'], maxResults: dialect === 'vendor' ? 5000 : 100 });
    const read = await readAll(readingOf(tracker.source.http, walk, tracker.signal));
    expect(new Set(read.ids)).toEqual(wanted);
  });

  it.each([
    ['larger than we take', gzipBomb()],
    ['more than the server can make in time', status(504)],
  ])('requests fewer issues a page where pages are %s, and keeps to that', async (_, fault) => {
    const tracker = await opened(options);
    await tracker.source.preflight(tracker.signal);
    const most = (body: unknown): number => (body as { maxResults: number }).maxResults;
    // From the second page on: what was read before stays.
    const rule = tracker.simulator.script.at(
      { endpoint: searchOf(dialect), nth: 2, times: Infinity, match: ({ body }) => most(body) > 40 },
      fault,
    );
    const { ids, end } = await tracker.read('issues');
    expect(ids).toHaveLength(250);
    expect(new Set(ids)).toEqual(truth(tracker, { field: 'created' }));
    expect(end).toMatchObject({ matched: true, passes: 1 });
    expect(rule.fired).toBeGreaterThan(0);
    expect(tracker.notes).toContainEqual(expect.stringContaining('25 at once from now on'));
    const fired = rule.fired;
    expect((await tracker.read('issues')).ids).toHaveLength(250);
    expect(rule.fired).toBe(fired);
  });

  it('requests a total once, however often it is used', async () => {
    const tracker = await opened(options);
    const { windows } = tracker.flow('issues');
    const halves: Window[] = [
      { field: 'created', from: new Date('2022-01-01'), to: new Date('2023-09-01') },
      { field: 'created', from: new Date('2023-09-01'), to: new Date('2026-01-01') },
    ];
    const count = async (window?: Window) =>
      windows?.count(window === undefined ? {} : { window }, tracker.signal);
    expect(await count()).toBe(250);
    const [left = 0, right = 0] = await Promise.all(halves.map(count));
    expect(left + right).toBe(250);
    expect(await count()).toBe(250);
    expect(await Promise.all(halves.map(count))).toEqual([left, right]);
    const sent = tracker.simulator.log
      .filter(({ body }) => JSON.stringify(body)?.includes('jql') === true)
      .map(({ endpoint, body }) => `${endpoint} ${JSON.stringify(body)}`);
    expect(sent.length).toBe(new Set(sent).size);
    // One request for each count, besides the one that found what the search understands.
    expect(sent.filter((one) => /"fields":\["id"\]|approximate-count/.test(one))).toHaveLength(4);
  });

  it('finds changes by updated', async () => {
    const tracker = await opened(options);
    const { windows } = tracker.flow('issues');
    expect(await windows?.changes(tracker.signal)).toBe('updated');
    expect(await windows?.changes(tracker.signal)).toBe('updated');
    expect(tracker.searches().filter(({ jql }) => String(jql).includes('updated'))).toHaveLength(1);
    const window: Window = { field: 'updated', from: new Date('2024-12-01T00:00:00Z') };
    const { ids } = await tracker.read('issues', { window });
    expectAll(ids, truth(tracker, window));
  });

  it.each([400, 422])('finds changes by created, with a note, where updated answers %i', async (code) => {
    const tracker = await opened({ ...options, issues: 20 });
    tracker.simulator.script.at(searches(/updated >=/, dialect), status(code));
    expect(await tracker.flow('issues').windows?.changes(tracker.signal)).toBe('created');
    expect(tracker.notes).toEqual([expect.stringContaining('updated')]);
  });

  it('finds with one request what it understands', async () => {
    const tracker = await opened(options);
    await tracker.source.preflight(tracker.signal);
    await tracker.flow('issues').windows?.changes(tracker.signal);
    expect(tracker.searches()).toHaveLength(1);
  });

  it('sends no probe for changes where TRACKER_CHANGES says how', async () => {
    const tracker = await opened(options, { changes: 'created' });
    expect(await tracker.flow('issues').windows?.changes(tracker.signal)).toBe('created');
    expect(tracker.simulator.log).toEqual([]);
  });
});

describe('instants in queries', () => {
  const dates = async (tracker: Opened) => {
    const { dialect } = await tracker.source.preflight(tracker.signal);
    return dialect.find((line) => line.startsWith('dates: '));
  };

  it.each([
    ['epoch milliseconds', { dialect: 'vendor', timeZone: 'Asia/Kathmandu' }],
    ['epoch milliseconds', { dialect: 'data-center' }],
    ['"yyyy-MM-dd HH:mm" in UTC, widened by 15 h', { bare: true }],
  ] as const)('are %s at %j', async (expected, options) => {
    expect(await dates(await opened(options))).toBe(`dates: ${expected}`);
  });

  it.each(['Asia/Shanghai', 'America/Los_Angeles'])(
    'are widened where a server in %s does not state its zone: nothing is lost',
    async (timeZone) => {
      const tracker = await opened({ bare: true, epochDates: false, timeZone });
      for (const [from, to] of [
        ['2024-01-10T00:00:00Z', '2024-03-01T00:00:00Z'],
        ['2024-06-10T00:00:00Z', '2024-09-01T00:00:00Z'],
      ] as const) {
        const window: Window = { field: 'created', from: new Date(from), to: new Date(to) };
        const { ids } = await tracker.read('issues', { window });
        expectAll(ids, truth(tracker, window));
      }
    },
  );
});

describe('the user’s filter', () => {
  it('restricts every query and stays within its parentheses', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const [one, two] = tracker.simulator.oracle().projects;
    const filtered = await opened(
      { dialect: 'vendor' },
      { jql: `project = ${one?.key} OR project = ${two?.key}` },
    );
    const window: Window = { field: 'created', from: new Date('2024-01-01'), to: new Date('2024-07-01') };
    const { ids, records } = await filtered.read('issues', { window });
    const projects = new Set([one?.id, two?.id]);
    const wanted = [...filtered.simulator.oracle().issues.values()].filter(
      (issue) => projects.has(issue.projectId) && truth(filtered, window).has(issue.id),
    );
    expect(new Set(ids)).toEqual(new Set(wanted.map(({ id }) => id)));
    expect(records.length).toBeGreaterThan(0);
    for (const { jql } of filtered.searches())
      expect(jql).toContain(` AND (project = ${one?.key} OR project = ${two?.key}) `);
  });

  it('is named in the error where the server refuses it', async () => {
    const tracker = await opened({ dialect: 'vendor' }, { jql: 'project = NOSUCH' });
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(Misconfigured);
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(/TRACKER_JQL.*NOSUCH/);
  });
});

describe('the changelog', () => {
  it.each([400, 422])(
    'is requested with each issue, and no longer once the server refuses that (%i)',
    async (code) => {
      const tracker = await opened({ dialect: 'contract', issues: 50 });
      const refusing = tracker.simulator.script.at(searches(/expand/), status(code));
      for (let run = 0; run < 2; run += 1) await tracker.read('issues');
      expect(refusing.fired).toBe(2);
      refusing.cancel();
      const willing = await opened({ dialect: 'contract', issues: 50 });
      await willing.read('issues');
      expect(willing.searches().at(-1)).toMatchObject({ expand: 'changelog' });
    },
  );

  it('is fetched issue by issue where the search does not give it, in pages of a hundred', async () => {
    const tracker = await opened({ bare: true });
    const { records } = await tracker.read('issues');
    const mapped = tracker.flow('issues').transform(records[0], {});
    const tail = mapped.nestedLists?.find(({ child }) => child === 'changelog');
    expect(mapped.children.changelog).toBeUndefined();
    expect(tail?.walk.first).toMatchObject({
      endpoint: '/rest/api/3/issue/{id}/changelog',
      query: { maxResults: 100 },
    });
  });
});

describe('credentials', () => {
  const myself = { endpoint: '/rest/api/3/myself', times: Infinity };
  const projects = { endpoint: '/rest/api/3/project/search', times: Infinity };
  const stranger = { auth: basic('somebody@example.com', { reveal: () => 'a-token' }) };

  it.each(dialects)(
    'that are wrong never look like an empty site: $name',
    async ({ options: { dialect }, bare }) => {
      const tracker = await opened({ dialect, bare }, stranger);
      await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
      for (const name of ['projects', 'issues']) await expect(tracker.read(name)).rejects.toThrow(AuthFailed);
    },
  );

  it('are good where only /myself, which the contract does not have, is refused', async () => {
    const tracker = await opened({ bare: true });
    tracker.simulator.script.at(myself, status(403));
    const { account, dialect } = await tracker.source.preflight(tracker.signal);
    expect(account).toBeUndefined();
    expect(dialect).toContain('account: the server does not say');
    expect((await tracker.read('issues')).records.length).toBeGreaterThan(0);
  });

  it.each([401, 403])('are bad where the cheapest request is answered %i too', async (code) => {
    const tracker = await opened({ bare: true });
    tracker.simulator.script.at(myself, status(403));
    tracker.simulator.script.at(projects, status(code));
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
  });

  it('are bad where the vendor refuses /myself and answers the next request as that of a stranger', async () => {
    const tracker = await opened({ dialect: 'vendor' }, stranger);
    const refusing = tracker.simulator.script.at(myself, status(403));
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
    expect(refusing.fired).toBe(1);
  });
});
