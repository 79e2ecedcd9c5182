/** An `Http` to a local test server: quick retries, fixed dice. */

import type { Http, Request } from '../../src/core/stream.ts';
import { basic } from '../../src/http/auth.ts';
import { createHttp } from '../../src/http/client.ts';
import type { HttpOptions } from '../../src/http/http-options.ts';

export const token = 'tok-5ecret-value';

export const httpTo = (baseUrl: string, options: Partial<HttpOptions> = {}): Http =>
  createHttp({
    baseUrl,
    auth: basic('me@example.com', { reveal: () => token }),
    version: '1.2.3',
    ...options,
    retry: { baseMs: 1, ...options.retry },
  });

export const get = (path: string, extra: Partial<Request> = {}): Request => ({
  method: 'GET',
  path,
  endpoint: path,
  ...extra,
});
