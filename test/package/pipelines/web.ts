import { env, jira, pipeline, secret } from 'tidemark';

export default pipeline({
  name: 'web',
  source: jira({
    baseUrl: env('TRACKER_BASE_URL'),
    email: env('TRACKER_EMAIL'),
    apiToken: secret('TRACKER_API_TOKEN'),
  }),
  exclude: ['sprint_issues'],
});
