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
});
