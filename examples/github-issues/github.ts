/** A connector for the issues of one GitHub repository, with labels and comments. Source: docs.github.com/rest/issues. */
import * as tidemark from 'tidemark';
import { column, field, get, records } from 'tidemark';

/** Addresses, and what follows from an id: neither read nor kept in `_extra`. */
const ignoredEverywhere = ['node_id', 'url', 'html_url', 'avatar_url', 'gravatar_id'];

const issues = records(
  'github.issues',
  'Issues and pull requests of the repository, one row each.',
  {
    number: field.whole('number', 'Number within the repository.').key(),
    title: field.text('title', 'Title.'),
    body: field.text('body?', 'Text in Markdown; null if there is none.'),
    state: field.word('state', 'open or closed.'),
    state_reason: field.text('state_reason?', 'Why it was closed or opened again, e.g. completed.'),
    author: field.text('user?.login', 'Login of who opened it; null for a deleted account.'),
    milestone: field.text('milestone?.title', 'Title of its milestone.'),
    is_draft: field.bool('draft?', 'True for a pull request that is a draft; null for an issue.'),
    merged_at: field.instant('pull_request?.merged_at?', 'When the pull request was merged (UTC).'),
    comment_count: field.int4('comments?', 'Comments, as the source counts them.'),
    created_at: field.instant('created_at', 'When it was opened (UTC).'),
    updated_at: field.instant('updated_at', 'When it was last changed (UTC).'),
    closed_at: field.instant('closed_at?', 'When it was closed (UTC); null while it is open.'),
  },
  {
    order: 'updated_at',
    ignoredEverywhere,
    ignored: `labels user.* milestone.* pull_request.* reactions.* repository_url labels_url
      comments_url events_url timeline_url`,
  },
);

const ofIssue = { issue_number: column.bigint('The issue, see github.issues.number.').key() };

const labels = records(
  'github.issue_labels',
  'Labels of issues, one row for an issue and a label.',
  {
    ...ofIssue,
    name: field.keyText('name', 'Name of the label.').key(),
    color: field.text('color?', 'Its colour, e.g. d73a4a.'),
  },
  { relation: true, ignored: '*' },
);

const comments = records(
  'github.issue_comments',
  'Comments on issues and pull requests, one row each.',
  {
    ...ofIssue,
    id: field.id('id', 'Id of the comment.').key(),
    author: field.text('user?.login', 'Login of who wrote it; null for a deleted account.'),
    body: field.text('body?', 'Text in Markdown.'),
    created_at: field.instant('created_at', 'When it was written (UTC).'),
    updated_at: field.instant('updated_at', 'When it was last changed (UTC).'),
  },
  { ignoredEverywhere, ignored: 'issue_url user.* reactions.*' },
);

export const github = tidemark.defineConnector({
  name: 'github',
  about: 'Issues and pull requests of a GitHub repository, with labels and comments.',
  schema: 'github',
  tables: [issues, labels, comments],
  settings: {
    repository: tidemark.setting.text('the repository, e.g. octocat/hello-world'),
    token: tidemark.setting.secret('a personal access token that may read its issues'),
    baseUrl: tidemark.setting.url('the address of the API').default('https://api.github.com'),
  },
  reconciles: true,
  open({ repository, token, baseUrl }, tools) {
    const http = tools.http({
      baseUrl,
      auth: tidemark.bearer(token),
      headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
    });
    const repo = `/repos/${repository}`;
    /** Pages of at most 100 records, as GitHub links them. `endpoint`: the route in logs and metrics. */
    const pages = (endpoint: string, path: string, id: string, query = {}): tidemark.PageWalk => ({
      first: get(repo + path, { per_page: 100, ...query }, endpoint),
      paging: tidemark.linkHeader(),
      list: tidemark.listNamed(endpoint),
      id: tidemark.idBy(id),
    });
    return {
      http,
      async check(signal) {
        const { body, date } = await http.send(get('/user'), signal);
        return { clock: date, account: String(Object(body).login) };
      },
      streams: [
        {
          by: 'changes',
          name: 'issues',
          about: 'Issues and pull requests with their labels and comments.',
          endpoint: 'GET /repos/{owner}/{repo}/issues',
          windows: tidemark.changesBy('created_at', 'updated_at', repository),
          pages: ({ window }) =>
            pages('/issues', '/issues', 'number', {
              state: 'all',
              // The newest change first: what changes while the list is read moves to its beginning, and nothing is skipped.
              sort: 'updated',
              since: window?.field === 'updated' ? window.from?.toISOString() : undefined,
            }),
          ...tidemark.readInto(issues, {
            labels: { table: labels, list: 'labels' },
            comments: {
              table: comments,
              count: 'comments',
              walk: ({ number, comments }) =>
                comments === 0
                  ? undefined
                  : pages('/issues/{number}/comments', `/issues/${number}/comments`, 'id'),
            },
          }),
          // What a list does not show is not gone: a reconcile asks for each issue that is missing. 301: it was transferred.
          absent: 'keep',
          exists: tidemark.existsAt(http, `${repo}/issues/{id}`, { gone: [301, 404, 410] }),
        },
      ],
    };
  },
});
