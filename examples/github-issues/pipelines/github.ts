import { env, pipeline, secret } from 'tidemark';
import { github } from '../github.ts';

export default pipeline({
  name: 'hello',
  source: github({
    repository: 'octocat/hello-world',
    token: secret('GITHUB_TOKEN'),
    baseUrl: env('GITHUB_BASE_URL'),
  }),
});
