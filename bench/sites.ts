import readline from 'node:readline';
import { startTracker, type TrackerSimulator } from '../simulators/jira/server.ts';

/** Trackers of one company each, in one process: prints their addresses; at each line every tracker has one more change. */
const [count = 50, latencyMs = 400] = process.argv.slice(2).map(Number);
const sites: TrackerSimulator[] = [];
for (let n = 0; n < count; n += 1)
  sites.push(
    await startTracker({ seed: n + 1, issues: 20, projects: 1, users: 4, dialect: 'vendor', latencyMs }),
  );
console.log(JSON.stringify(sites.map(({ url, email, token }) => ({ url, email, token }))));
let changes = 0;
for await (const _ of readline.createInterface({ input: process.stdin })) {
  changes += 1;
  for (const { state } of sites) state.addLabel(state.store.keyOf(0), `changed-${changes}`);
  console.log(JSON.stringify({ changes }));
}
