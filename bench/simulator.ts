import readline from 'node:readline';
import { startTracker } from '../simulators/jira/server.ts';

/** The tracker of the bench, in a process of its own: prints its address, then obeys lines of JSON. */
const [issues, latencyMs] = process.argv.slice(2).map(Number);
const tracker = await startTracker({
  seed: 1,
  issues: issues ?? 1000,
  dialect: 'vendor',
  latencyMs: latencyMs ?? 0,
  cacheMegabytes: 2048,
  lean: true,
  history: 1,
});

console.log(JSON.stringify({ url: tracker.url, email: tracker.email, token: tracker.token }));

for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as { touch?: number };
  if (order.touch !== undefined) {
    const { store } = tracker.state;
    const step = Math.floor(store.size / order.touch);
    for (let i = 0; i < order.touch; i += 1) {
      // A label shows on no other issue: the pages that are already written stay.
      tracker.state.addLabel(store.keyOf(i * step), `touched-${order.touch}`);
    }
  }
  console.log(JSON.stringify({ done: true }));
}
