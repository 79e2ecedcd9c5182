import type { Answer, Call, Route } from '../shared/http.ts';
import { bodyOf, stringsOf } from './search-routes.ts';
import type { Site } from './site.ts';

const known = new Set(['issueIdsOrKeys', 'fieldIds', 'maxResults', 'nextPageToken']);

const isWithin = (value: unknown, most: number): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most;

/**
 * `POST /rest/api/3/changelog/bulkfetch`: the histories of up to 1000 issues, oldest change first, and by issue within an instant (the
 * vendor's OpenAPI). An issue that is not seen is left out. Changes of one issue may be on several pages.
 */
const bulkFetch = (site: Site, call: Call): Answer => {
  const { dialect, writer } = site;
  const body = bodyOf(site, call);
  const { maxResults = 1000, nextPageToken = '0' } = body;
  const [wanted = [], fields = []] = [body.issueIdsOrKeys, body.fieldIds ?? []].map(stringsOf);
  const isAsked = Object.keys(body).every((name) => known.has(name)) && isWithin(wanted.length, 1000);
  if (!isAsked || fields.length > 10 || !isWithin(maxResults, 10_000) || !/^\d+$/.test(String(nextPageToken)))
    throw dialect.refused(400, 'Invalid request payload. Refer to the REST API documentation and try again.');
  const issues = call.anonymous ? [] : wanted.flatMap((one) => site.seen(one) ?? []);
  const changes = issues
    .flatMap((issue) => issue.history.map((change) => ({ issue, change })))
    .filter(({ change }) => fields.length === 0 || change.items.some((one) => fields.includes(one.fieldId)))
    .sort((a, b) => a.change.at - b.change.at || Number(a.issue.id) - Number(b.issue.id));
  const from = Number(nextPageToken);
  const shown = changes.slice(from, from + Math.min(maxResults, call.cap ?? maxResults));
  const logs = [...Map.groupBy(shown, ({ issue }) => issue.id)].map(([issueId, own]) => ({
    issueId,
    changeHistories: writer.changes(own.map(({ change }) => change)).map((one): unknown => JSON.parse(one)),
  }));
  const isLast = from + shown.length >= changes.length;
  return dialect.json({
    issueChangeLogs: logs,
    ...(!isLast && { nextPageToken: String(from + shown.length) }),
  });
};

/** What the vendor has to read the histories of many issues at once. */
export const historyRoutes = (site: Site): readonly Route[] => [
  {
    method: 'POST',
    path: '/rest/api/3/changelog/bulkfetch',
    inContract: false,
    handle: (call) => bulkFetch(site, call),
  },
];
