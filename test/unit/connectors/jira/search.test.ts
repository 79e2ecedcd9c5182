import { describe, expect, it } from 'vitest';
import { gzipBomb, status } from '../../../../simulators/shared/faults.ts';
import { AuthFailed, Misconfigured } from '../../../../src/core/errors.ts';
import type { Window } from '../../../../src/core/stream.ts';
import { readingOf } from '../../../../src/reading/open-reading.ts';
import { type Opened, opened, readAll } from './opened.ts';

const search = '/rest/api/3/search/jql';

/** The live, visible issues whose `field` lies in the window, by the simulator's own truth. */
const truth = ({ simulator }: Opened, window: Window): ReadonlySet<string> =>
  new Set(
    [...simulator.oracle().issues.values()]
      .filter((issue) => !issue.deleted && issue.visible)
      .filter(
        (issue) =>
          issue[window.field === 'updated' ? 'updated' : 'created'] >= (window.from?.getTime() ?? -Infinity),
      )
      .filter(
        (issue) =>
          issue[window.field === 'updated' ? 'updated' : 'created'] < (window.to?.getTime() ?? Infinity),
      )
      .map((issue) => issue.id),
  );

const expectAll = (seen: readonly string[], wanted: ReadonlySet<string>): void => {
  expect(wanted.size).toBeGreaterThan(0);
  const found = new Set(seen);
  expect([...wanted].filter((id) => !found.has(id))).toEqual([]);
};

const dialects = [
  ['the contract', { dialect: 'contract' }],
  ['the contract and nothing else', { dialect: 'contract', bare: true }],
  ['the vendor', { dialect: 'vendor' }],
] as const;

describe.each(dialects)('against %s', (_, options) => {
  it('every issue is read, in pages of a hundred, bounded by created and ordered by key', async () => {
    const tracker = await opened(options);
    await tracker.source.preflight(tracker.signal);
    const before = tracker.searches().length;
    const { ids, end, rows } = await tracker.read('issues');
    expect(new Set(ids)).toEqual(truth(tracker, { field: 'created' }));
    expect(end.matched).toBe(true);
    expect(end.expected).toBe(options.dialect === 'vendor' ? null : ids.length);
    expect(rows).toHaveLength(ids.length);
    const walked = tracker.searches().slice(before);
    expect(walked.length).toBeLessThanOrEqual(4);
    for (const body of tracker.searches()) {
      expect(body.jql).toMatch(/^created >= \S+.* ORDER BY key ASC$/);
      expect(Object.hasOwn(body, 'startAt') && options.dialect === 'vendor').toBe(false);
    }
    expect(walked.map(({ maxResults }) => maxResults)).toEqual(walked.map(() => 100));
    expect(tracker.simulator.errors).toEqual([]);
  });

  it.each([
    ['larger than we take', gzipBomb()],
    ['more than the server can make in time', status(504)],
  ])('pages that are %s are asked for with fewer issues, and later ones at once', async (_, fault) => {
    const tracker = await opened(options);
    await tracker.source.preflight(tracker.signal);
    const most = (body: unknown): number => (body as { maxResults: number }).maxResults;
    // Not the walk's first page: what was read before stands.
    const rule = tracker.simulator.script.at(
      {
        endpoint: search,
        nth: 2,
        times: Infinity,
        match: ({ body }) => most(body) > 40,
      },
      fault,
    );
    const { ids, end } = await tracker.read('issues');
    expect(ids).toHaveLength(250);
    expect(new Set(ids)).toEqual(truth(tracker, { field: 'created' }));
    expect(end).toMatchObject({ matched: true, passes: 1 });
    expect(rule.fired).toBeGreaterThan(0);
    expect(tracker.events).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('25 at once from now on') }),
    );
    const fired = rule.fired;
    expect((await tracker.read('issues')).ids).toHaveLength(250);
    expect(rule.fired).toBe(fired);
  });

  it('a total is asked for once, however often it is wanted', async () => {
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
    const asked = tracker.simulator.log
      .filter(({ body }) => JSON.stringify(body)?.includes('jql') === true)
      .map(({ endpoint, body }) => `${endpoint} ${JSON.stringify(body)}`);
    expect(asked.length).toBe(new Set(asked).size);
    // Each half once more than nothing: one request each, beside those that found out the dialect.
    expect(asked.filter((one) => /"fields":\["id"\]|approximate-count/.test(one))).toHaveLength(
      options.dialect === 'vendor' ? 3 : 2,
    );
  });

  it('ids alone are read in the largest pages there are', async () => {
    const tracker = await opened(options);
    const stream = tracker.flow('issues');
    const walk = await stream.ids?.({}, tracker.signal);
    if (walk === undefined) throw new Error('issues cannot be walked by id');
    const { ids } = await readAll(readingOf(tracker.source.http, walk, tracker.signal));
    expect(new Set(ids)).toEqual(truth(tracker, { field: 'created' }));
    expect(walk.first.body).toMatchObject({
      fields: ['id'],
      maxResults: options.dialect === 'vendor' ? 5000 : 100,
    });
  });

  it('changes are found by updated, where the server can', async () => {
    const tracker = await opened(options);
    const { windows } = tracker.flow('issues');
    expect(await windows?.changes(tracker.signal)).toBe('updated');
    expect(await windows?.changes(tracker.signal)).toBe('updated');
    expect(tracker.searches().filter(({ jql }) => String(jql).includes('updated'))).toHaveLength(1);
    const window: Window = { field: 'updated', from: new Date('2024-12-01T00:00:00Z') };
    const { ids } = await tracker.read('issues', { window });
    expectAll(ids, truth(tracker, window));
  });

  it.each([400, 422])('and by created with a note, where the server refuses updated (%i)', async (code) => {
    const tracker = await opened(options);
    tracker.simulator.script.at(
      { endpoint: search, times: Infinity, match: ({ body }) => JSON.stringify(body).includes('updated >=') },
      status(code),
    );
    expect(await tracker.flow('issues').windows?.changes(tracker.signal)).toBe('created');
    expect(tracker.events).toEqual([
      expect.objectContaining({ type: 'note', message: expect.stringContaining('updated') }),
    ]);
  });

  it('what the user configured about changes is not questioned', async () => {
    const tracker = await opened(options, { changes: 'created' });
    expect(await tracker.flow('issues').windows?.changes(tracker.signal)).toBe('created');
    expect(tracker.simulator.log).toEqual([]);
  });
});

describe.each<[string, (total: number) => unknown]>([
  ['is text', String],
  ['is not stated', () => undefined],
])('a total that %s', (_, told) => {
  it('does not hide that the search pages by offset: every issue is read', async () => {
    const tracker = await opened({ bare: true });
    const rule = tracker.simulator.script.at(
      { endpoint: search, times: Infinity },
      {
        name: 'tells totals in its own way',
        answer: (answer) => {
          const { total, ...body } = JSON.parse(answer.body.toString());
          return { ...answer, body: Buffer.from(JSON.stringify({ ...body, total: told(total) })) };
        },
      },
    );
    const { ids, end } = await tracker.read('issues');
    expect(rule.fired).toBeGreaterThan(3);
    expectAll(ids, truth(tracker, { field: 'created' }));
    expect(end).toMatchObject({ matched: true, expected: null });
  });
});

describe('instants in queries', () => {
  const dates = async (tracker: Opened) => {
    const { dialect } = await tracker.source.preflight(tracker.signal);
    return dialect.find((line) => line.startsWith('dates: '));
  };

  it('are epoch milliseconds where the server reads them rightly', async () => {
    expect(await dates(await opened({ dialect: 'vendor', timeZone: 'Asia/Kathmandu' }))).toBe(
      'dates: epoch milliseconds',
    );
    expect(await dates(await opened({ bare: true }))).toBe('dates: epoch milliseconds');
  });

  it('are literals of the account’s zone where it does not know epochs', async () => {
    const tracker = await opened({ dialect: 'vendor', timeZone: 'Australia/Lord_Howe', epochDates: false });
    expect(await dates(tracker)).toBe('dates: "yyyy-MM-dd HH:mm" in Australia/Lord_Howe');
  });

  it.each(['Asia/Shanghai', 'America/Los_Angeles'])(
    'are widened where a server of the zone %s does not state it: nothing is lost',
    async (timeZone) => {
      const tracker = await opened({ bare: true, epochDates: false, timeZone });
      expect(await dates(tracker)).toMatch(/^dates: "yyyy-MM-dd HH:mm" in UTC, widened by 15 h$/);
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

  it('are not epoch numbers where the server takes them and reads them as something else', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    // Seconds instead of milliseconds: 200, and not one issue.
    const misread = tracker.simulator.script.at(
      {
        endpoint: search,
        times: Infinity,
        match: ({ body }) => /created (>=|<) \d/.test(JSON.stringify(body)),
      },
      status(200, { body: '{"isLast":true,"issues":[]}' }),
    );
    expect(await dates(tracker)).toBe('dates: "yyyy-MM-dd HH:mm" in Europe/Berlin');
    expect(misread.fired).toBeGreaterThan(0);
    expect((await tracker.read('issues')).ids).toHaveLength(250);
  });

  it('are not epoch numbers where the server shows all issues whatever they say', async () => {
    const tracker = await opened({ bare: true });
    const [first] = (await tracker.read('issues', { window: { field: 'created', from: new Date(0) } }))
      .records;
    const answer = JSON.stringify({ startAt: 0, maxResults: 100, total: 1, issues: [first] });
    const other = await opened({ bare: true, timeZone: 'UTC' });
    const deaf = other.simulator.script.at(
      {
        endpoint: search,
        times: Infinity,
        match: ({ body }) => /created (>=|<) \d/.test(JSON.stringify(body)),
      },
      status(200, { body: answer }),
    );
    expect(await dates(other)).toMatch(/^dates: "yyyy-MM-dd HH:mm"/);
    expect(deaf.fired).toBeGreaterThan(1);
  });

  it('are dates alone where the server knows nothing finer', async () => {
    const tracker = await opened({ bare: true, epochDates: false, timeZone: 'America/Los_Angeles' });
    const coarse = tracker.simulator.script.at(
      { endpoint: search, times: Infinity, match: ({ body }) => /\d\d:\d\d/.test(JSON.stringify(body)) },
      status(400, { body: '{"errorMessages":["no times"],"errors":{}}' }),
    );
    expect(await dates(tracker)).toBe('dates: "yyyy-MM-dd"');
    expect(coarse.fired).toBeGreaterThan(0);
    const window: Window = {
      field: 'created',
      from: new Date('2024-01-10T06:00:00Z'),
      to: new Date('2024-03-01T18:00:00Z'),
    };
    expectAll((await tracker.read('issues', { window })).ids, truth(tracker, window));
  });

  it('are literals, said to be unconfirmed, where there is no issue to check them by', async () => {
    const tracker = await opened({ dialect: 'vendor' }, { jql: 'labels = "no-issue-has-this"' });
    expect(await dates(tracker)).toBe(
      'dates: "yyyy-MM-dd HH:mm" in Europe/Berlin (not confirmed by an issue)',
    );
    expect((await tracker.read('issues')).ids).toEqual([]);
    const unzoned = await opened({ bare: true }, { jql: 'labels = "no-issue-has-this"' });
    expect(await dates(unzoned)).toBe(
      'dates: "yyyy-MM-dd HH:mm" in UTC, widened by 15 h (not confirmed by an issue)',
    );
  });
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

  it('is blamed where the server refuses it, and only then', async () => {
    const tracker = await opened({ dialect: 'vendor' }, { jql: 'project = NOSUCH' });
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(Misconfigured);
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(/TRACKER_JQL.*NOSUCH/);
  });
});

describe('the changelog', () => {
  it.each([400, 422])(
    'is asked for with each issue, and dropped for good where the server refuses that (%i)',
    async (code) => {
      const tracker = await opened({ dialect: 'contract' });
      const refusing = tracker.simulator.script.at(
        { endpoint: search, times: Infinity, match: ({ body }) => JSON.stringify(body).includes('expand') },
        status(code, { body: '{"errorMessages":["unknown property: expand"],"errors":{}}' }),
      );
      await tracker.read('issues');
      await tracker.read('issues', { window: { field: 'created', from: new Date('2024-01-01') } });
      expect(refusing.fired).toBe(1);
      const willing = await opened({ dialect: 'contract' });
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
  it.each(dialects)('that are wrong never look like an empty site: %s', async (_, options) => {
    const tracker = await opened(options, { email: 'somebody@example.com' });
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
    await expect(tracker.read('projects')).rejects.toThrow(AuthFailed);
    await expect(tracker.read('issues')).rejects.toThrow(AuthFailed);
  });

  const myself = '/rest/api/3/myself';
  const projects = '/rest/api/3/project/search';

  it('are good where only the question who we are is refused: the contract does not have it', async () => {
    const tracker = await opened({ bare: true });
    tracker.simulator.script.at({ endpoint: myself, times: Infinity }, status(403));
    const { account, dialect } = await tracker.source.preflight(tracker.signal);
    expect([account, dialect]).toEqual([
      undefined,
      expect.arrayContaining(['account: the server does not say']),
    ]);
    expect((await tracker.read('issues')).records.length).toBeGreaterThan(0);
  });

  it.each([401, 403])('are bad where the cheapest question is answered %i, too', async (code) => {
    const tracker = await opened({ bare: true });
    tracker.simulator.script.at({ endpoint: myself, times: Infinity }, status(403));
    tracker.simulator.script.at({ endpoint: projects, times: Infinity }, status(code));
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
  });

  it('are bad where the vendor refuses the question who we are and serves the next one as a stranger’s', async () => {
    const tracker = await opened({ dialect: 'vendor' }, { email: 'somebody@example.com' });
    const refusing = tracker.simulator.script.at({ endpoint: myself, times: Infinity }, status(403));
    await expect(tracker.source.preflight(tracker.signal)).rejects.toThrow(AuthFailed);
    expect(refusing.fired).toBe(1);
  });
});
