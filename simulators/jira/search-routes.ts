import { type Call, pieces, type Route } from '../shared/http.ts';
import type { Projection } from './issue-json.ts';
import type { Site } from './site.ts';

type Body = Readonly<Record<string, unknown>>;

/** A list of texts, or undefined if it is anything else. */
export const stringsOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;

/** The JSON object in a request's body. Throws the refusals the dialect has for anything else. */
export const bodyOf = (site: Site, call: Call): Body => {
  const { dialect } = site;
  const type = String(call.headers['content-type'] ?? '')
    .split(';', 1)[0]
    ?.trim()
    .toLowerCase();
  if (type !== 'application/json')
    throw dialect.problem(415, 'Unsupported Media Type', `Content-Type '${type ?? ''}' is not supported.`);
  if (call.body.length === 0) throw dialect.refused(400, 'No content to map to Object due to end of input');
  let value: unknown;
  try {
    value = JSON.parse(call.body.toString('utf8'));
  } catch {
    // The cause is the client's text; the answer says so.
    throw dialect.refused(400, 'There was an error parsing JSON. Check that your request body is valid.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw dialect.refused(400, 'Invalid request payload. Refer to the REST API documentation and try again.');
  return { ...value };
};

/** Whether an `expand` (comma text or list) asks for the changelog. */
export const wantsChangelog = (expand: unknown): boolean =>
  (typeof expand === 'string' ? expand.split(',') : (stringsOf(expand) ?? [])).some(
    (one) => one.trim() === 'changelog',
  );

/** `POST /rest/api/3/search/jql` of the contract: offsets and a total. */
export const contractSearch = (site: Site): Route => ({
  method: 'POST',
  path: '/rest/api/3/search/jql',
  inContract: true,
  handle: (call) => {
    const { dialect } = site;
    const body = bodyOf(site, call);
    const whole = (name: string, standard: number): number => {
      const value = body[name] ?? standard;
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
        throw dialect.refused(400, `${name} is not a whole number from 0 up: ${JSON.stringify(value)}`);
      return value;
    };
    const { jql = '', fields = ['*all'] } = body;
    if (typeof jql !== 'string') throw dialect.refused(400, 'jql is not a text');
    const wanted = stringsOf(fields);
    if (wanted === undefined) throw dialect.refused(400, 'fields is not a list of texts');
    const startAt = whole('startAt', 0);
    const maxResults = Math.min(whole('maxResults', 50), 100, call.cap ?? 100);
    const projection: Projection = {
      fields: wanted,
      changelog: !site.bare && wantsChangelog(body.expand),
      agile: false,
      sparse: false,
    };
    const { hits } = site.find(jql);
    const list = site.fragments.list(hits.slice(startAt, startAt + maxResults), projection);
    return dialect.written(
      pieces(`{"startAt":${startAt},"maxResults":${maxResults},"total":${hits.length},"issues":`, list, '}'),
    );
  },
});
