import { type Call, pieces, type Route } from '../shared/http.ts';
import type { Issue } from './model.ts';
import { wantsChangelog } from './search-routes.ts';
import type { Site } from './site.ts';

const epoch = (text: string | null, otherwise: number): number =>
  text !== null && /^\d+$/.test(text) ? Number(text) : otherwise;

/** One issue, and the lists that belong to it in full. */
export const issueRoutes = (site: Site): readonly Route[] => {
  const { dialect, writer } = site;
  const issueOf = (call: Call): Issue => {
    if (call.anonymous)
      throw dialect.refused(404, 'Issue does not exist or you do not have permission to see it.');
    return site.visible(call.params.issueIdOrKey ?? '');
  };
  /** An offset page whose list has a name of its own. */
  const page = (call: Call, name: string, standard: number, items: readonly string[]) => {
    const { startAt, maxResults } = dialect.position(call, { standard, max: Math.max(standard, 100) });
    const shown = items.slice(startAt, startAt + maxResults);
    return dialect.written(
      pieces(
        `{"startAt":${startAt},"maxResults":${maxResults},"total":${items.length},"${name}":[${shown.join(',')}]}`,
      ),
    );
  };
  const parsed = (list: readonly string[]): readonly unknown[] => list.map((one): unknown => JSON.parse(one));
  return [
    {
      method: 'GET',
      path: '/rest/api/3/issue/{issueIdOrKey}',
      inContract: false,
      handle: (call) => {
        const issue = issueOf(call);
        const fields = call.query
          .getAll('fields')
          .flatMap((one) => one.split(','))
          .filter((one) => one !== '');
        const projection = {
          fields: fields.length === 0 ? ['*all'] : fields,
          changelog: wantsChangelog(call.query.get('expand')),
          agile: false,
          sparse: false,
        };
        return dialect.written(pieces(writer.write(issue, projection)));
      },
    },
    {
      method: 'GET',
      path: '/rest/api/3/issue/{issueIdOrKey}/changelog',
      inContract: false,
      handle: (call) =>
        dialect.values(call, { standard: 100, max: 100 }, parsed(writer.changes(issueOf(call).history))),
    },
    {
      method: 'GET',
      path: '/rest/api/3/issue/{issueIdOrKey}/comment',
      inContract: false,
      handle: (call) => {
        const order = call.query.get('orderBy') ?? 'created';
        // The vendor looks at the order before it looks for the issue.
        if (!/^[+-]?created$/.test(order))
          throw dialect.refused(400, `The orderBy value '${order}' is not valid.`);
        const list = writer.comments(issueOf(call));
        return page(call, 'comments', 100, order.startsWith('-') ? [...list].reverse() : list);
      },
    },
    {
      method: 'GET',
      path: '/rest/api/3/issue/{issueIdOrKey}/worklog',
      inContract: false,
      handle: (call) => {
        const issue = issueOf(call);
        const after = epoch(call.query.get('startedAfter'), Number.NEGATIVE_INFINITY);
        const before = epoch(call.query.get('startedBefore'), Number.POSITIVE_INFINITY);
        const worklogs = issue.worklogs.filter((one) => one.started >= after && one.started <= before);
        return page(call, 'worklogs', 5000, writer.worklogs({ ...issue, worklogs }));
      },
    },
  ];
};
