import { env, jira, pipeline, secret } from 'tidemark';

// A Data Center server takes a personal access token.
export default pipeline({
  name: 'plant',
  source: jira({ baseUrl: env('PLANT_BASE_URL'), auth: 'bearer', apiToken: secret('PLANT_API_TOKEN') }),
  exclude: ['sprint_issues'],
});
