// The same in TypeScript: Node runs it as it is, and `tsc` checks it against the declarations of the package.
import assert from 'node:assert/strict';
import { env, jira, pipeline, type RunReport, run, secret } from 'tidemark';

const source = jira({
  baseUrl: env('TRACKER_BASE_URL'),
  email: env('TRACKER_EMAIL'),
  apiToken: secret('TRACKER_API_TOKEN'),
});
const report: RunReport = await run(pipeline({ name: 'web', source }), { streams: ['projects'] });
assert.equal(report.status, 'succeeded');
const unchanged: number = report.counts.unchanged;
assert.ok(unchanged > 0);

/** Never called: mistakes that `tsc` has to find. */
export const wrong = () => [
  // @ts-expect-error a name that no setting has
  jira({ baseUrl: 'https://example.atlassian.net', lookbackHour: 24 }),
  // @ts-expect-error no baseUrl
  jira({ email: 'me@example.com' }),
  // @ts-expect-error a number of hours, not text
  jira({ baseUrl: 'https://example.atlassian.net', lookbackHours: '24' }),
  // @ts-expect-error a secret that is not given by secret()
  jira({ baseUrl: 'https://example.atlassian.net', apiToken: env('TRACKER_API_TOKEN') }),
  // @ts-expect-error a key that pipelines do not have
  pipeline({ name: 'web', source, shedule: { sync: '0 2 * * *' } }),
];
