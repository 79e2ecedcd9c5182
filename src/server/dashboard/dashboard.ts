/**
 * The dashboard: pages that are complete without a script, and follow what happens with one. A fastify
 * plugin.
 */

import { STATUS_CODES } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { minutes } from '../../core/time.ts';
import { historyToken } from '../../queries/change-token.ts';
import { countRejects } from '../../queries/reject-list.ts';
import { failure, messages, Rejected, refusalOf } from '../api/envelope.ts';
import { apiText } from '../api/openapi.ts';
import { shared } from '../api/service.ts';
import { actions } from './actions.ts';
import { assets } from './assets.ts';
import { html, lines } from './html.ts';
import type { DashboardDeps, DashboardPage, PageContext, PageRequest } from './layout.ts';
import { layout, message } from './layout.ts';
import { backfillPage } from './pages/backfill.ts';
import { listPage, settingsPage } from './pages/lists.ts';
import { overview } from './pages/overview.ts';
import { pipelinePage } from './pages/pipeline.ts';
import { planPage } from './pages/plan.ts';
import { rejectPage } from './pages/rejects.ts';
import { requestPage, runPage } from './pages/run.ts';
import { runsPage } from './pages/runs.ts';
import { streamPage, streamsPage } from './pages/streams.ts';
import { isPage, sessions } from './session.ts';

/** Undefined: there is nothing of that name (404). */
type MakePage = (request: PageRequest) => Promise<DashboardPage | undefined>;

const pages: Readonly<Record<string, MakePage>> = {
  '/': overview,
  '/streams': streamsPage,
  '/streams/:pipeline/:stream': streamPage,
  '/runs': runsPage,
  '/runs/:run': runPage,
  '/requests/:pipeline/:run': requestPage,
  '/pipelines/:pipeline': pipelinePage,
  '/plan': planPage,
  '/backfill': backfillPage,
  '/rejects/:reject': rejectPage,
  '/:list(^(?:rejects|deletions|alerts|audit)$)': listPage,
  '/settings': settingsPage,
};

/** The newest lines of a log that are downloaded. */
const newest = { tail: 100_000, most: 100_000 };

/** Forms are small. */
const bodyLimit = 16 * 1024;

/** All readers share a plan of the night that is not older than this: each one asks all sources. */
const planKeptMs = minutes(5);

const nothingThere = 'There is nothing of that name here.';

/**
 * Registers pages, forms and assets at `/`. Hooks and parsers are its own: the API is not touched by them.
 */
export async function dashboard(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  const asset = assets(app);
  const viewFor = (reply: FastifyReply, rejects = 0): PageContext => ({
    ...viewOf(deps, reply),
    asset,
    rejects,
  });
  const show = (
    reply: FastifyReply,
    page: DashboardPage,
    status = 200,
    view = viewFor(reply),
  ): FastifyReply => reply.code(status).type('text/html; charset=utf-8').send(layout(view, page));
  app.setErrorHandler((error, { method, routeOptions }, reply) => {
    const { code, body, isOurs } = refusalOf(error);
    if (isOurs) deps.trouble(`${method} ${routeOptions.url ?? ''} of the dashboard failed`, error);
    return show(reply, message(`${code} ${STATUS_CODES[code]}`, wordsFor(error, body.message)), code);
  });
  const asText = { parseAs: 'string', bodyLimit } as const;
  const parse = async (_request: unknown, body: string) => new URLSearchParams(body);
  app.addContentTypeParser('application/x-www-form-urlencoded', asText, parse);
  await sessions(app, { ...deps, show });
  // The warehouse does not take NUL as text: nothing has such a name.
  app.addHook('onRequest', async ({ url }) => {
    if (url.includes('%00')) throw new Rejected(404, nothingThere);
  });
  app.setNotFoundHandler(async (request, reply) => {
    if (isPage(request)) throw new Rejected(404, nothingThere);
    return reply.code(404).send(failure(messages[404] ?? ''));
  });
  app.get('/api', { config: { isOpen: true } }, async (request, reply) => {
    if (!isPage(request)) return reply.type('text/plain; charset=utf-8').send(apiText());
    const body = html`<h1>Control API</h1><pre tabindex="0">${lines(apiText())}</pre><p>For programs: <a href="/openapi.json">/openapi.json</a></p>`;
    return show(reply, { title: 'API', at: '/api', isAlone: true, body });
  });
  const tonight = shared(deps.tonight, planKeptMs);
  for (const [path, make] of Object.entries(pages))
    app.get(path, async (_request, reply) => {
      const view = viewFor(reply, await countRejects(deps.db));
      const page = await make({ ...deps, tonight, ...askedOf(reply), view });
      if (page === undefined) throw new Rejected(404, nothingThere);
      return show(reply, page, 200, view);
    });
  app.get('/requests/:pipeline/:run/log', async (_request, reply) => {
    const { param } = askedOf(reply);
    const lines = await deps.control.log(param('pipeline'), param('run'), newest);
    const file = `attachment; filename="${param('run')}.log"`;
    reply.type('text/plain; charset=utf-8').header('content-disposition', file);
    return lines.map(({ at, level, message }) => `${at.toISOString()} ${level} ${message}\n`).join('');
  });
  const changes = shared(() => changeToken(deps), 1000);
  app.get('/changes', async (_request, reply) => reply.type('text/plain').send(await changes()));
  await app.register(async (scope) => actions(scope, deps));
}

/** A text that changes when a page may look different. */
async function changeToken({ db, control }: DashboardDeps): Promise<string> {
  const [past, dags] = await Promise.all([historyToken(db), control.list()]);
  const requests = dags.map(({ name, last }) =>
    [name, last?.runId, last?.status, last?.stopping, last?.received].join(':'),
  );
  return [past, ...requests].join(' ');
}

function viewOf({ now, version }: DashboardDeps, reply: FastifyReply) {
  const { session } = reply.request;
  return {
    now: now(),
    version,
    csrf: session === undefined ? '' : reply.generateCsrf(),
    mayChange: session !== undefined && session.role !== 'read',
    isSignedIn: session !== undefined && session.role !== 'local',
  };
}

/** Empty values are absent: a form sends all its fields. Of several values the first counts. */
function askedOf({ request, raw }: FastifyReply): Pick<PageRequest, 'query' | 'all' | 'param' | 'signal'> {
  const given = new URL(request.url, 'http://any').searchParams;
  const leaving = new AbortController();
  raw.once('close', () => leaving.abort());
  return {
    query: Object.fromEntries([...given].reverse().filter(([, value]) => value !== '')),
    all: (name) => given.getAll(name).filter((value) => value !== ''),
    param: (name) => String(Reflect.get(Object(request.params), name) ?? ''),
    signal: leaving.signal,
  };
}

/** A message with a capital letter. */
function wordsFor(error: unknown, text: string): string {
  const isExpired = error instanceof Error && String(Reflect.get(error, 'code')).startsWith('FST_CSRF');
  return isExpired ? 'This page has expired: reload it.' : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
