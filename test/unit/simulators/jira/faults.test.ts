import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import * as faults from '../../../../simulators/shared/faults.ts';
import { ask } from '../ask.ts';

const now = new Date('2026-01-15T12:00:00Z');
const contract = await startTracker({ issues: 300, now });
afterAll(async () => {
  expect(contract.errors).toEqual([]);
  await contract.close();
});
afterEach(() => {
  contract.script.clear();
});
const jql = 'created >= "2000-01-01" ORDER BY key ASC';
const query = { jql, fields: ['summary'], maxResults: 100 };
const { get, search } = ask(contract);

describe('the script', () => {
  test('acts on the n-th fitting request, as often as it is told', async () => {
    const rule = contract.script.at(
      { endpoint: '/rest/agile/1.0/sprint/{id}/issue', method: 'GET', nth: 2, times: 2 },
      faults.status(500),
    );
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) {
      statuses.push((await get('/rest/agile/1.0/sprint/1/issue')).status);
      await search(query);
    }
    expect(statuses).toEqual([200, 500, 500, 200, 200]);
    expect(rule.fired).toBe(2);
  });

  test('changes the source just before a page is answered', async () => {
    const doomed = contract.state.create('PAY');
    const rule = contract.script.at({ endpoint: '/rest/api/3/search/jql', nth: 2 }, ({ state, clock }) => {
      clock.advance(1000);
      state.delete(doomed.id);
    });
    const first = await search(query);
    const second = await search({ ...query, startAt: 100 });
    expect([first.body.total, second.body.total]).toEqual([301, 300]);
    expect(rule.fired).toBe(1);
    expect(contract.clock.now()).toEqual(new Date(now.getTime() + 1000));
  });

  test('a mutation and two faults act on one request', async () => {
    contract.script.at(
      { endpoint: '/rest/api/3/search/jql' },
      ({ state }) => state.addLabel('10050', 'scripted'),
      faults.total(7),
      faults.delay(30),
    );
    const { body } = await search({ ...query, jql: 'id = 10050', fields: ['labels'] });
    expect(body.total).toBe(7);
    expect(body.issues[0]?.fields.labels).toContain('scripted');
    expect(contract.log.at(-1)?.faults).toEqual(['total', 'delay 30']);
  });
});
