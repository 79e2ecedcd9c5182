/** What the user can set of the issue tracker. */

import type { Report } from '../../config/pipeline.ts';
import { setting, type ValuesOf } from '../../config/settings.ts';
import { account, anyInstant, sentToken } from '../../config/values.ts';
import { type Auth, basic, bearer, clientCredentials } from '../../http/auth.ts';

const ways = ['basic', 'bearer', 'oauth'] as const;

const fieldsFor = (what: string) =>
  setting.list(`fields with ${what} by id or name, of a site that has its own; the first filled one counts`);

export const settings = {
  baseUrl: setting.url(
    'the address of the site, such as https://example.atlassian.net; with a scoped token or oauth https://api.atlassian.com/ex/jira/{cloudId}; of Data Center with its path, such as https://jira.example.com/jira',
  ),
  auth: setting
    .oneOf(
      'basic (the default): e-mail and API token, or user name and password of Data Center; bearer: a personal access token; oauth: client credentials',
      ...ways,
    )
    .default('basic'),
  email: setting
    .of('the e-mail address of the account that the token belongs to; its user name at Data Center', account)
    .optional(),
  apiToken: setting
    .secret('an API token of that account; with auth = bearer a personal access token', sentToken)
    .optional(),
  apiTokenExpires: setting
    .of('the day on which that token ends: runs and check warn from 14 days before', anyInstant)
    .optional(),
  clientId: setting.text('with auth = oauth: the id of the client, such as a service account').optional(),
  clientSecret: setting.secret('with auth = oauth: the secret of that client').optional(),
  tokenUrl: setting
    .url('with auth = oauth: the address that gives access tokens')
    .default('https://auth.atlassian.com/oauth/token'),
  scope: setting.text('with auth = oauth: the scope to ask for, where the server wants one').optional(),
  jql: setting.text("a further filter, in the tracker's query language").optional(),
  start: setting.instant('where history begins').default(new Date('2000-01-01T00:00:00Z')),
  changes: setting
    .oneOf('by which field changes are found; auto asks the server', 'auto', 'updated', 'created')
    .default('auto'),
  createdWindowDays: setting
    .integer('days of issues that are read again each time, where changes is created', 1, 36_500)
    .default(180),
  lookbackHours: setting.integer('how far behind the last run the next one begins', 0, 87_600).default(24),
  storyPointsFields: fieldsFor('story points'),
  sprintFields: fieldsFor('sprints'),
  epicLinkFields: fieldsFor('the key of the epic'),
  flaggedFields: fieldsFor('the flag of what is impeded'),
  teamFields: fieldsFor('the team'),
  startDateFields: fieldsFor('the day on which work starts'),
  groups: setting.list('groups whose members are read where the server lists no groups'),
};

export type TrackerConfig = ValuesOf<typeof settings>;

/** What each way of signing in needs. */
const needed = {
  basic: ['email', 'apiToken'],
  bearer: ['apiToken'],
  oauth: ['clientId', 'clientSecret'],
} as const;

export function check(values: Partial<TrackerConfig>, { problem }: Report): void {
  const { auth = 'basic' } = values;
  const instead = auth === 'basic' ? 'auth' : undefined;
  for (const key of needed[auth])
    if (values[key] === undefined) problem(key, `is missing: ${settings[key].about}`, instead);
}

/** What `check` has found to be whole. */
export function authOf(values: TrackerConfig): Auth {
  const { auth, email, apiToken, clientId, clientSecret, tokenUrl, scope } = values;
  if (auth === 'basic' && email && apiToken) return basic(email, apiToken);
  if (auth === 'bearer' && apiToken) return bearer(apiToken);
  if (auth === 'oauth' && clientId && clientSecret)
    return clientCredentials({ tokenUrl, clientId, clientSecret, ...(scope && { scope }) });
  throw new Error('credentials that check refuses');
}
