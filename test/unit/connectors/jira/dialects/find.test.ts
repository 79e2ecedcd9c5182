import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, scriptedServer } from '../../../../../simulators/testing/server.ts';
import { sourceOf } from '../../../../../src/connectors/connector.ts';
import { openTracker } from '../../../../../src/connectors/jira/source.ts';
import { AuthFailed, Missing } from '../../../../../src/core/errors.ts';
import { bearer } from '../../../../../src/http/auth.ts';

type Answers = Readonly<Record<string, Answer>>;

const html = (status: number, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { 'content-type': 'text/html;charset=UTF-8', ...headers },
  body: Buffer.from('<html><body>A page for people</body></html>'),
});
const json = (body: unknown): Answer => ({ status: 200, body });

const info = (members: object) => ({
  '/rest/api/2/serverInfo': json({ baseUrl: 'http://jira', ...members }),
});
const server = info({ version: '9.12.4', deploymentType: 'Server' });
const ada = { key: 'JIRAUSER10100', name: 'ada', displayName: 'Ada Example', timeZone: 'Etc/UTC' };
const myself = { '/rest/api/2/myself': json(ada) };
const search = { '/rest/api/2/search': json({ startAt: 0, maxResults: 1, total: 0, issues: [] }) };
const version2 = { ...server, ...myself, ...search, '/rest/api/2/field': json([]) };

/** What preflight finds at a server with these answers below `path`; `v3`: what it says to all of version 3. */
const found = async (answers: Answers, v3: Answer = html(404), path = '') => {
  const jira = await scriptedServer(({ path: asked }) => {
    const name = (asked.split('?')[0] ?? '').slice(path.length);
    const own = asked.startsWith(path) ? answers[name] : undefined;
    return own ?? (name.startsWith('/rest/api/3/') ? v3 : html(404));
  });
  onTestFinished(() => jira.close());
  const settings = { auth: bearer({ reveal: () => 'a-token' }), start: new Date(0), groups: [] };
  const tracker = openTracker({ baseUrl: jira.url + path, changes: 'auto', ...settings });
  const source = sourceOf('tracker', 'tracker', tracker);
  onTestFinished(() => source.close());
  const report = await source.preflight(new AbortController().signal);
  return { ...report, asked: jira.asked.map((one) => one.path) };
};

describe('Jira Data Center is found', () => {
  it.each([
    ['where version 3 is not there', version2, html(404), '9.12.4'],
    // Jira 7 and older do not say how they are deployed.
    ['without a deployment type', { ...version2, ...info({ version: '7.2.1' }) }, html(404), '7.2.1'],
    // Single sign-on in front of a server answers for paths that it does not know.
    ['behind a login page', version2, html(200), '9.12.4'],
    [
      'behind a redirect to a login',
      version2,
      html(302, { location: 'https://login.example.test' }),
      '9.12.4',
    ],
    ['behind a gateway that refuses other paths (401)', version2, html(401), '9.12.4'],
    ['behind a gateway that refuses other paths (403)', version2, html(403), '9.12.4'],
  ])('%s', async (_, answers, v3, version) => {
    const { dialect, account, problems } = await found(answers, v3);
    expect(dialect).toContain(`server: Jira Data Center ${version}`);
    expect(account).toBe('Ada Example');
    expect(problems).toEqual([]);
  });

  it('below a path, which every request has', async () => {
    const { dialect, asked } = await found(version2, html(404), '/jira');
    expect(dialect).toContain('server: Jira Data Center 9.12.4');
    expect(asked.filter((one) => !one.startsWith('/jira/rest/'))).toEqual([]);
  });

  it('without its own word, where the account answers in version 2', async () => {
    const { dialect, account } = await found({ ...version2, '/rest/api/2/serverInfo': html(404) });
    expect([dialect[0], account]).toEqual(['server: Jira Data Center', 'Ada Example']);
  });

  it('without an endpoint that names the account', async () => {
    const { dialect, account } = await found({ ...server, ...search });
    expect(dialect).toEqual(
      expect.arrayContaining(['server: Jira Data Center 9.12.4', 'account: the server does not say']),
    );
    expect(account).toBeUndefined();
  });
});

describe('Jira Data Center is not concluded', () => {
  const denied = html(403, { 'x-seraph-loginreason': 'AUTHENTICATION_DENIED' });

  it('where version 3 answers, whatever version 2 says', async () => {
    const { dialect, asked } = await found({
      ...version2,
      '/rest/api/3/myself': json({ accountId: 'acc-1', displayName: 'Ada Example' }),
      '/rest/api/3/search/jql': json({ isLast: true, issues: [] }),
    });
    expect(dialect).toContain('server: Jira Cloud');
    expect(asked.filter((one) => one.startsWith('/rest/api/2/'))).toEqual([]);
  });

  it.each([
    ['a cloud that refuses the token', info({ version: '1001.0.0', deploymentType: 'Cloud' }), html(401)],
    ['a server that refuses the token everywhere', { '/rest/api/2/serverInfo': html(401) }, html(401)],
    ['a server that refuses the token', { ...server, '/rest/api/2/myself': html(401) }, html(404)],
    ['a server that wants a captcha', { ...server, '/rest/api/2/myself': denied }, html(404)],
  ])('from wrong credentials: %s', async (_, answers, v3) => {
    const everywhere = { '/rest/api/2/project': denied, ...answers };
    await expect(found(everywhere, v3)).rejects.toThrow(AuthFailed);
  });

  it('from a server that has neither version', async () => {
    await expect(found({})).rejects.toThrow(Missing);
    await expect(found({})).rejects.toThrow(/neither \/rest\/api\/3\/myself.*with its path/);
  });
});
