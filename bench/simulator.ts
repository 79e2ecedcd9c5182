import readline from 'node:readline';
import { startTracker } from '../simulators/jira/server.ts';
import { status } from '../simulators/shared/faults.ts';

/**
 * The tracker of the bench, in a process of its own. It prints its address and then obeys lines of JSON.
 * `single`: it gives long lists issue by issue only. `cacheMegabytes`: how much of what it wrote it keeps.
 */
const [issues, latencyMs, longEvery, lists, cacheMegabytes, history] = process.argv.slice(2);
const tracker = await startTracker({
  seed: 1,
  issues: Number(issues ?? 1000),
  dialect: 'vendor',
  latencyMs: Number(latencyMs ?? 0),
  cacheMegabytes: Number(cacheMegabytes ?? 2048),
  lean: true,
  history: Number(history ?? 1),
  ...(longEvery && { longEvery: Number(longEvery) }),
});
if (lists === 'single')
  for (const endpoint of ['/rest/api/3/changelog/bulkfetch', '/rest/api/3/worklog/updated'])
    tracker.script.at({ endpoint, times: Number.POSITIVE_INFINITY }, status(404));

console.log(JSON.stringify({ url: tracker.url, email: tracker.email, token: tracker.token }));

const { store } = tracker.state;
let counted = 0;

/**
 * Changes a number of issues at a fixed distance from each other. A label shows on no other issue: the pages
 * that are already written stay.
 */
const change = (count: number, step: number): void => {
  for (let i = 0; i < count; i += 1)
    tracker.state.addLabel(store.keyOf((i * step) % store.size), `touched-${count}`);
};

/** Logs work on issues at a fixed distance from each other, longer ago than what the feed of worklogs leaves out. */
const log = (count: number, times: number): void => {
  for (let i = 0; i < count; i += 1)
    for (let n = 0; n < times; n += 1)
      tracker.state.addWorklog(store.keyOf(i * Math.floor(store.size / count)), 600);
  tracker.clock.advance(120_000);
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as {
    touch?: number;
    change?: number;
    log?: number;
    times?: number;
    asked?: true;
  };
  if (order.touch !== undefined) change(order.touch, Math.floor(store.size / order.touch));
  // Not by hundreds: each twentieth of them has a long history.
  if (order.change !== undefined) change(order.change, Math.floor(store.size / order.change) + 1);
  if (order.log !== undefined) log(order.log, order.times ?? 1);
  const asked: Record<string, number> = {};
  if (order.asked) {
    for (const { endpoint } of tracker.log.slice(counted)) asked[endpoint] = (asked[endpoint] ?? 0) + 1;
    counted = tracker.log.length;
  }
  console.log(JSON.stringify({ done: true, asked }));
}
