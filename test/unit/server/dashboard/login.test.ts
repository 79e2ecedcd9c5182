import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openScene, type Scene } from './scene.ts';
import { csrfOf, host, type Visitor, visitor } from './visitor.ts';

const token = 'a token of some length';
const readToken = 'another for looking';
const requests = ['/requests/tracker/x/stop', '/requests/tracker/x/retry'];
const forms = ['/pipelines/tracker/start', '/backfill', ...requests];
let scene: Scene;
let now = new Date('2026-03-10T09:00:00Z');
let person: Visitor;

beforeAll(async () => {
  scene = await openScene({ token, readToken, now: () => now });
});
afterAll(() => scene.close());
beforeEach(() => {
  person = visitor(scene.app);
});

describe('with a token', () => {
  test('no page, event or form is answered before signing in, and the sign-in leads back', async () => {
    const { status, headers } = await person.get('/runs?pipeline=tracker');
    expect([status, headers.location]).toEqual([303, '/login?next=%2Fruns%3Fpipeline%3Dtracker']);
    expect((await person.get('/changes', { accept: '*/*' })).status).toBe(401);
    for (const path of [...forms, '/logout'])
      expect((await person.post(path, { pipeline: 'tracker' })).status).toBe(401);
    expect(await scene.asked()).toEqual([]);
  });

  test('the right token makes a session that scripts cannot read and other sites cannot send', async () => {
    const answer = await person.signIn(token);
    expect([answer.status, answer.headers.location]).toEqual([303, '/']);
    expect(answer.headers['set-cookie']).toMatch(
      /^tidemark_[a-z0-9]{8}=[^;]+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.headers['set-cookie']).not.toContain(token);
    expect((await person.get('/')).status).toBe(200);
  });

  test('a wrong token is refused; after too many the address has to wait, also with the right one', async () => {
    const wrong = ['', 'wrong', `${token} `, token.toUpperCase(), 'x'.repeat(4000)];
    for (let tries = 0; tries < 20; tries++)
      expect((await person.signIn(wrong[tries % wrong.length] ?? '')).status).toBe(403);
    const waiting = await person.signIn(token);
    expect(waiting.status).toBe(429);
    expect(Number(waiting.headers['retry-after'])).toBeGreaterThan(0);
    expect(waiting.body).toContain('Too many wrong tokens');
    expect(person.cookies.size).toBe(0);
    const trouble = '127.0.0.1 signed in with a wrong token once too often; it is held back';
    expect(scene.troubles.at(-1)).toBe(trouble);
    const status = async () => (await person.signIn(token)).status;
    await expect.poll(status, { interval: 200 }).toBe(303);
  });

  test('a session that is forged, changed, over or ended at the server is refused', async () => {
    await person.signIn(token);
    const [[name, value] = ['', '']] = person.cookies;
    const [nonce, expires, role, signature] = value.split('.');
    expect(role).toBe('operate');
    const later = Number(expires) + 1;
    for (const forged of [
      `${nonce}.${later}.${role}.${signature}`,
      `${nonce}.${expires}.local.${signature}`,
      `x${value}`,
      `${value}x`,
      '..',
      '',
      `${nonce}.${expires}`,
    ])
      expect((await visitor(scene.app).get('/', { cookie: `${name}=${forged}` })).status).toBe(303);
    expect((await visitor(scene.app).get('/', { cookie: `${name}=${value}` })).status).toBe(200);
    const before = now;
    now = new Date(Number(expires));
    expect((await person.get('/')).status).toBe(303);
    now = before;
    expect((await person.send('/', '/logout', {})).headers.location).toBe('/login');
    // The cookie is gone at the browser, and worth nothing to a person who copied it.
    expect(person.cookies.size).toBe(0);
    expect((await visitor(scene.app).get('/', { cookie: `${name}=${value}` })).status).toBe(303);
  });

  test('a form counts only with the token of its own session, from our own pages, small, as a form', async () => {
    await person.signIn(token);
    const other = visitor(scene.app);
    await other.signIn(token);
    const mine = csrfOf((await person.get('/')).body);
    const theirs = csrfOf((await other.get('/')).body);
    const start = '/pipelines/nothing/start';
    for (const fields of [{}, { _csrf: theirs }, { _csrf: `${mine}x` }])
      expect((await person.post(start, fields)).status).toBe(403);
    const foreign = `http://${host}.evil.example`;
    for (const origin of ['http://evil.example', 'null', foreign, 'http://127.0.0.1:9999'])
      expect((await person.post(start, { _csrf: mine }, { origin })).status).toBe(403);
    expect(await scene.asked()).toEqual([]);
    const json = await person.post('/backfill', { _csrf: mine }, { 'content-type': 'application/json' });
    expect([400, 403, 415]).toContain(json.status);
    expect((await person.post('/backfill', { _csrf: mine, from: 'x'.repeat(20_000) })).status).toBe(413);
    // The same form as it should be reaches the control, which knows no such pipeline.
    expect((await person.post(start, { _csrf: mine })).status).toBe(404);
  });

  test('the read role sees every page without buttons, and its actions are refused with 403', async () => {
    await person.signIn(readToken);
    const { body } = await person.get('/');
    expect(body).not.toContain('/start"');
    const csrf = csrfOf(body);
    for (const path of forms) expect((await person.post(path, { _csrf: csrf })).status).toBe(403);
    expect(await scene.asked()).toEqual([]);
    expect((await person.post('/logout', { _csrf: csrf })).headers.location).toBe('/login');
  });

  test('every answer forbids foreign scripts, frames and guesses about its type', async () => {
    await person.signIn(token);
    const guest = visitor(scene.app);
    const mine = [await person.get('/'), await person.get('/runs/999999')];
    const answers = [
      ...mine,
      await guest.get('/login'),
      await guest.get('/runs'),
      await person.post('/backfill', {}),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 303, 403]);
    for (const { headers } of answers) {
      const strict = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' };
      expect(headers).toMatchObject({ ...strict, 'cache-control': 'no-store' });
      const policy = headers['content-security-policy'];
      expect(policy).toContain("default-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
    }
  });
});

test('without a token no sign-in is needed, but forms need theirs, and a foreign host name gets 421 (DNS rebinding)', async () => {
  const guest = visitor(await scene.beside({}));
  expect((await guest.get('/')).status).toBe(200);
  expect((await guest.post('/pipelines/tracker/start', {})).status).toBe(403);
  expect(await scene.asked()).toEqual([]);
  expect((await guest.send('/', '/pipelines/tracker/start')).status).toBe(303);
  expect(await scene.asked()).toEqual(['tracker sync by dashboard']);
  for (const name of ['evil.example', 'localhost.evil.example:8080', '10.0.0.1', '127.0.0.1.evil.example'])
    expect((await guest.get('/', { host: name })).status).toBe(421);
  for (const name of ['localhost', 'localhost:8080', '127.0.0.1:1', '[::1]:8080'])
    expect((await guest.get('/', { host: name })).status).toBe(200);
});

test('assets have their hash in the name, and browsers may keep them', async () => {
  const page = (await visitor(scene.app).get('/login')).body;
  const paths = [...page.matchAll(/"(\/assets\/[^"]+)"/g)].map((found) => found[1] ?? '');
  expect(paths.length).toBeGreaterThanOrEqual(3);
  for (const path of paths) {
    expect(path).toMatch(/^\/assets\/[0-9a-f]{10}\.\w+\.(css|js|svg)$/);
    const { status, headers, body } = await visitor(scene.app).get(path);
    expect(status).toBe(200);
    expect(headers['cache-control']).toContain('immutable');
    expect(body.length).toBeGreaterThan(100);
  }
  for (const path of ['/assets/style.css', '/assets/..%2f..%2fpackage.json', '/assets/x'])
    expect((await visitor(scene.app).get(path)).status).toBe(404);
});

test('a changed token ends all sessions', async () => {
  const person = visitor(scene.app);
  await person.signIn(token);
  const [[, value = ''] = []] = person.cookies;
  const other = await scene.beside({ token: 'another token', readToken });
  const stranger = visitor(other);
  await stranger.signIn('another token');
  const [[name = ''] = []] = stranger.cookies;
  expect((await visitor(other).get('/', { cookie: `${name}=${value}` })).status).toBe(303);
});
