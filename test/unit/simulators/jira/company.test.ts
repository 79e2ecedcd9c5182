import { afterAll, describe, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');

test('the same seed gives the same company, another seed another', async () => {
  const made = async (seed: number) => {
    const tracker = await startTracker({ seed, issues: 150, now });
    const truth = tracker.oracle();
    const pages = (await ask(tracker).walk('created >= 0', { expand: 'changelog' })).map((one) =>
      JSON.stringify(one).replaceAll(tracker.url, ''),
    );
    await tracker.close();
    return { ...truth, issues: [...truth.issues.values()], pages };
  };
  const [one, again, other] = [await made(5), await made(5), await made(6)];
  expect(again).toEqual(one);
  expect(other.pages).not.toEqual(one.pages);
});

describe('a company of 2000 issues', async () => {
  const tracker = await startTracker({ issues: 2000, now, timeZone: 'Asia/Kolkata' });
  afterAll(() => tracker.close());
  const truth = tracker.oracle();
  const issues = [...truth.issues.values()];

  test('what the search shows is what the oracle says', async () => {
    const shown = await ask(tracker).walk('created >= "2000-01-01" ORDER BY key ASC', {
      expand: 'changelog',
    });
    expect(shown).toHaveLength(2000);
    for (const got of shown) {
      const one = truth.issues.get(got.id);
      if (one === undefined) throw new Error(`the oracle does not know ${got.id}`);
      expect({
        key: got.key,
        created: Date.parse(String(got.fields.created)),
        updated: Date.parse(String(got.fields.updated)),
        resolved: got.fields.resolutiondate === null ? null : Date.parse(String(got.fields.resolutiondate)),
        summary: got.fields.summary,
        labels: got.fields.labels,
        changes: got.changelog?.total,
        points: got.fields.customfield_10016,
      }).toEqual({
        key: one.key,
        created: one.created,
        updated: one.updated,
        resolved: one.resolved,
        summary: one.summary,
        labels: one.labels,
        changes: one.history.length,
        points: one.storyPoints,
      });
      expect(got.fields).toMatchObject({
        status: { id: one.statusId },
        project: { id: one.projectId, key: one.projectKey },
        comment: { total: one.comments.length },
        worklog: { total: one.worklogs.length },
        timespent: one.spentSeconds === 0 ? null : one.spentSeconds,
      });
    }
    expect(String(shown[0]?.fields.created)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0530$/);
  });

  test('no history goes beyond its issue: created first, updated last, statuses in a chain', () => {
    for (const one of issues) {
      expect(one.updated).toBeGreaterThanOrEqual(one.created);
      expect(one.updated).toBeLessThan(now.getTime());
      const times = one.history.map((change) => change.at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      for (const at of [
        ...times,
        ...one.comments.map((comment) => comment.updated),
        ...one.worklogs.map((worklog) => worklog.updated),
      ]) {
        expect(at).toBeGreaterThanOrEqual(one.created);
        expect(at).toBeLessThanOrEqual(one.updated);
      }
      if (one.updated > one.created) expect(times.at(-1)).toBe(one.updated);
      const statuses = one.history.flatMap((change) =>
        change.items.filter((item) => item.fieldId === 'status'),
      );
      for (const [index, item] of statuses.entries())
        if (index > 0) expect(item.from).toBe(statuses[index - 1]?.to);
      if (statuses.length > 0) expect(statuses.at(-1)?.to).toBe(one.statusId);
    }
  });

  test('ids and keys are unique, links stand at both ends, and everything named exists', () => {
    expect(new Set(issues.map((one) => one.key)).size).toBe(2000);
    for (const name of ['history', 'comments', 'worklogs'] as const) {
      const ids = issues.flatMap((one) => one[name].map((child) => child.id));
      expect(new Set(ids).size).toBe(ids.length);
    }
    const users = new Set(truth.users.map((one) => one.accountId));
    for (const one of issues) {
      for (const link of one.links)
        expect(truth.issues.get(link.otherId)?.links.map((other) => other.id)).toContain(link.id);
      if (one.parentId !== null) expect(truth.issues.has(one.parentId)).toBe(true);
      for (const id of [one.creatorId, one.assigneeId, one.reporterId])
        if (id !== null) expect(users.has(id)).toBe(true);
      const project = truth.projects.find((other) => other.id === one.projectId);
      for (const id of one.componentIds)
        expect(project?.components.some((component) => component.id === id)).toBe(true);
    }
  });

  test('there is some of everything a sync can stumble over', () => {
    const some = (found: boolean | undefined, what: string) => expect(found, what).toBe(true);
    some(
      issues.some((one) => one.oldKeys.length > 0),
      'moved issues',
    );
    some(
      issues.some((one) => one.history.length > 40),
      'long changelogs',
    );
    some(
      issues.some((one) => one.comments.length > 20),
      'many comments',
    );
    some(
      issues.some((one) => one.worklogs.length > 20),
      'many worklogs',
    );
    some(
      issues.some((one) => one.description === null),
      'issues without a description',
    );
    some(
      issues.some((one) => one.assigneeId === null),
      'issues of nobody',
    );
    some(
      issues.some((one) => one.sprintIds.length > 1),
      'issues carried over',
    );
    some(
      issues.some((one) => one.history.some((change) => change.authorId === undefined)),
      'changes by nobody',
    );
    some(
      truth.groups.some((one) => one.members.length > 50),
      'groups of more than a page',
    );
    some(
      truth.groups.some((one) => one.members.length === 0),
      'an empty group',
    );
    some(new Set(truth.users.map((one) => one.timeZone)).size > 5, 'people in many zones');
    some(
      truth.users.some((one) => !one.active),
      'people who left',
    );
    some(
      truth.users.some((one) => one.accountType === 'app'),
      'apps',
    );
    some(
      new Set(truth.boardSprints.map((one) => one.sprintId)).size < truth.boardSprints.length,
      'sprints on several boards',
    );
    expect(new Set(truth.boards.map((one) => one.type))).toEqual(new Set(['scrum', 'kanban', 'simple']));
    expect(new Set(truth.sprints.map((one) => one.state))).toEqual(new Set(['closed', 'active', 'future']));
    expect(new Set(truth.fields.filter((one) => one.custom).map((one) => one.schema.type))).toEqual(
      new Set([
        'any',
        'number',
        'array',
        'option',
        'user',
        'date',
        'datetime',
        'option-with-child',
        'string',
      ]),
    );
    for (const field of truth.fields.filter(
      (one) => one.custom && !['customfield_10016', 'customfield_10020'].includes(one.id),
    ))
      some(
        issues.some((one) => one.custom[field.id] !== undefined),
        field.name,
      );
  });

  test('the tally counts what the oracle lists', () => {
    expect(tracker.tally()).toMatchObject({
      issues: 2000,
      changes: issues.reduce((sum, one) => sum + one.history.length, 0),
      comments: issues.reduce((sum, one) => sum + one.comments.length, 0),
      oldKeys: issues.reduce((sum, one) => sum + one.oldKeys.length, 0),
    });
  });
});

test('200,000 issues are ready in seconds, and any page of them at once', async () => {
  const began = performance.now();
  const tracker = await startTracker({ issues: 200_000, now });
  const { search } = ask(tracker);
  const started = performance.now() - began;
  try {
    const last = await search({
      jql: 'created >= "2000-01-01" ORDER BY key ASC',
      startAt: 199_950,
      maxResults: 100,
      fields: ['summary'],
    });
    expect(last.body.total).toBe(200_000);
    expect(last.body.issues).toHaveLength(50);
    // Two cores are shared with other tests; alone it takes a third of a second.
    expect(started).toBeLessThan(10_000);
    const asked = performance.now();
    for (let startAt = 0; startAt < 5000; startAt += 100)
      await search({
        jql: 'created >= "2000-01-01" ORDER BY key ASC',
        startAt,
        maxResults: 100,
        fields: ['summary'],
      });
    expect(performance.now() - asked).toBeLessThan(10_000);
  } finally {
    await tracker.close();
  }
});

test('lean issues say the same in fewer bytes', async () => {
  const options = { issues: 100, now };
  const [full, lean] = [await startTracker(options), await startTracker({ ...options, lean: true })];
  try {
    const [much, little] = [await ask(full).walk('created >= 0'), await ask(lean).walk('created >= 0')];
    expect(little.map((one) => [one.key, one.fields.summary, one.fields.description])).toEqual(
      much.map((one) => [one.key, one.fields.summary, one.fields.description]),
    );
    expect(JSON.stringify(little).length).toBeLessThan(JSON.stringify(much).length * 0.6);
  } finally {
    await Promise.all([full.close(), lean.close()]);
  }
});
