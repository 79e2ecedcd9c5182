import { expect, onTestFinished, test } from 'vitest';
import { type Answer, scriptedServer } from '../../../simulators/testing/server.ts';
import { AuthFailed, Forbidden, Refused } from '../../../src/core/errors.ts';
import { bearer, clientCredentials } from '../../../src/http/auth.ts';
import { createHttp } from '../../../src/http/client.ts';
import { closedEndpoints } from '../../../src/http/closed-endpoints.ts';
import type { HttpOptions } from '../../../src/http/http-options.ts';
import { get } from '../../../src/reading/requests.ts';

const { signal } = new AbortController();

/** A client of a server with an account at `/me`; `answers`: by path, each time the next one, the last for ever. */
const client = async (answers: Readonly<Record<string, Answer[]>>, options: Partial<HttpOptions> = {}) => {
  const asked: string[] = [];
  const server = await scriptedServer(({ path }) => {
    asked.push(path);
    const own = answers[path] ?? [{ status: 200, body: {} }];
    return (own.length > 1 ? own.shift() : own[0]) ?? 'reset';
  });
  onTestFinished(() => server.close());
  const own = createHttp({ baseUrl: server.url, ...options });
  const http = closedEndpoints(own, (at) => own.send(get('/me'), at));
  onTestFinished(() => http.close());
  return {
    asked,
    url: server.url,
    failure: (path: string) => http.send(get(path), signal).catch((error) => error),
  };
};

const refused = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers,
  body: { message: 'not for you' },
});

test.each([401, 403])('a %i where the account is accepted is about the endpoint', async (status) => {
  const { failure, asked } = await client({ '/boards': [refused(status)] });
  const error = await failure('/boards');
  expect(error).toBeInstanceOf(Forbidden);
  expect(error.message).toBe(`GET /boards answered ${status}: not for you`);
  expect(asked).toEqual(['/boards', '/me']);
});

test.each([401, 403])('a %i is about the credentials where the account is refused, too', async (status) => {
  const { failure } = await client({ '/boards': [refused(status)], '/me': [refused(401)] });
  const error = await failure('/boards');
  expect(error).toBeInstanceOf(AuthFailed);
  expect(error.message).toContain('GET /me answered 401');
  expect(error.message).toContain('are the credentials right, and still valid?');
});

test('what was true of one refusal is not taken for the next: the token may have expired meanwhile', async () => {
  const me: Answer[] = [{ status: 200, body: {} }, refused(401)];
  const { failure } = await client({ '/boards': [refused(401)], '/me': me });
  expect(await failure('/boards')).toBeInstanceOf(Forbidden);
  expect(await failure('/boards')).toBeInstanceOf(AuthFailed);
});

test('the message names the scope that the server says is lacking (RFC 6750)', async () => {
  const challenge = 'Bearer realm="x", error="insufficient_scope", scope="read:sprint:jira-software"';
  const { failure } = await client({ '/boards': [refused(403, { 'www-authenticate': challenge })] });
  expect((await failure('/boards')).message).toContain('the token lacks the scope read:sprint:jira-software');
});

const advice = [
  [/from this address/i, 'ask to be let in', 'login'],
  [/^x-denied: *PUZZLE/im, 'solve the puzzle'],
] as const;

test.each([400, 403, 404])(
  'a sentence about the login counts as 401 under status %i, also in HTML',
  async (status) => {
    const page = {
      status,
      headers: { 'content-type': 'text/html' },
      body: Buffer.from('<h1>Not from this address!</h1>'),
    };
    const { failure } = await client({ '/boards': [page], '/me': [page] }, { advice });
    const error = await failure('/boards');
    expect(error).toBeInstanceOf(AuthFailed);
    expect(error.message).toBe(`GET /me answered ${status}; ask to be let in`);
  },
);

test('a sentence about something else adds advice and changes nothing', async () => {
  const { failure } = await client({ '/boards': [refused(400, { 'x-denied': 'PUZZLE' })] }, { advice });
  const error = await failure('/boards');
  expect(error).toBeInstanceOf(Refused);
  expect(error.message).toBe('GET /boards answered 400: not for you; solve the puzzle');
});

test('an endpoint that refused a renewed token renews no more, and one whose token expired does', async () => {
  let issued = 0;
  let valid = 'token 1';
  const tokens: string[] = [];
  const server = await scriptedServer(({ path, headers }) => {
    if (path === '/token') {
      issued += 1;
      valid = `token ${issued}`;
      return { status: 200, body: { access_token: valid } };
    }
    tokens.push(String(headers.authorization));
    return path !== '/boards' && headers.authorization === `Bearer ${valid}`
      ? { status: 200, body: {} }
      : refused(401);
  });
  onTestFinished(() => server.close());
  const client = { clientId: 'id', clientSecret: { reveal: () => 'a secret' } };
  const own = createHttp({
    baseUrl: server.url,
    auth: clientCredentials({ tokenUrl: `${server.url}/token`, ...client }),
  });
  onTestFinished(() => own.close());
  const http = closedEndpoints(own, (at) => own.send(get('/me'), at));
  for (let night = 0; night < 3; night += 1)
    await expect(http.send(get('/boards'), signal)).rejects.toBeInstanceOf(Forbidden);
  expect(issued).toBe(2);
  valid = 'none of ours';
  expect(await http.send(get('/issues'), signal)).toMatchObject({ status: 200 });
  expect(issued).toBe(3);
});

test('a token that is sent as it is costs one request more for each refusal', async () => {
  const auth = bearer({ reveal: () => 'the token' });
  const { failure, asked } = await client({ '/boards': [refused(401)] }, { auth });
  await failure('/boards');
  expect(asked).toEqual(['/boards', '/me']);
});
