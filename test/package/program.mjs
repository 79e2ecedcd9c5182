// A program in JavaScript that runs a pipeline; `web` was synced before.
import assert from 'node:assert/strict';
import { env, jira, pipeline, run, secret } from 'tidemark';

const source = jira({
  baseUrl: env('TRACKER_BASE_URL'),
  email: env('TRACKER_EMAIL'),
  apiToken: secret('TRACKER_API_TOKEN'),
});
const report = await run(pipeline({ name: 'web', source }), { streams: ['projects'] });
assert.equal(report.status, 'succeeded');
assert.deepEqual(
  report.streams.map(({ stream }) => stream),
  ['projects'],
);
assert.equal(report.counts.inserted, 0);
assert.ok(report.counts.unchanged > 0);
