/** The dashboard: pages that are whole without a script, and follow what happens with one. A fastify plugin. */

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Misconfigured, TidemarkError } from '../../core/errors.ts';
import { openRejects } from '../../queries/reject-list.ts';
import {
  AlreadyActive,
  NothingActive,
  RunIdTaken,
  UnknownDag,
  UnknownRun,
} from '../../scheduler/request-errors.ts';
import { isPassing, isUnwritable } from '../../warehouse/pg-errors.ts';
import { actions } from './actions.ts';
import { assets } from './assets.ts';
import type { DashboardDeps } from './deps.ts';
import { events } from './events.ts';
import { layout, type Page, type View } from './layout.ts';
import { door } from './login.ts';
import { backfillPage } from './pages/backfill.ts';
import { changesPage } from './pages/changes.ts';
import { refusal } from './pages/message.ts';
import { overview } from './pages/overview.ts';
import { rejectPage, rejectsPage } from './pages/rejects.ts';
import { requestPage, runPage } from './pages/run.ts';
import { runsPage } from './pages/runs.ts';
import { streamPage } from './pages/stream.ts';
import { streamsPage } from './pages/streams.ts';
import { guard } from './security-headers.ts';
import { sessions as makeSessions } from './session.ts';

export type { DashboardDeps } from './deps.ts';

/** Forms are small. */
const formBytes = 16 * 1024;

/** Values of a query; one that is given several times counts once, with its first. */
type Query = Readonly<Record<string, string | undefined>>;

/**
 * Registers every page at `/`, forms, events and assets: `app.register(dashboard, deps)`. Hooks and parsers are its own; routes of others
 * (`/api`, `/healthz`) are not touched by them.
 */
export async function dashboard(app: FastifyInstance, deps: DashboardDeps): Promise<void> {
  const sessions = makeSessions({ operate: deps.token, read: deps.readToken }, deps.now);
  const asset = assets(app);

  const viewOf = (request: FastifyRequest, rejects?: number): View => {
    const session = sessionOf(request);
    return {
      now: deps.now(),
      version: deps.version,
      asset,
      csrf: session?.csrf ?? '',
      mayChange: session !== undefined && session.role !== 'read',
      signedIn: sessions.needsToken && session !== undefined,
      ...(rejects === undefined ? {} : { rejects }),
    };
  };
  const send = (reply: FastifyReply, view: View, page: Page, status: number): FastifyReply =>
    reply.code(status).type('text/html; charset=utf-8').send(layout(view, page));
  const show = (request: FastifyRequest, reply: FastifyReply, page: Page, status = 200): FastifyReply =>
    send(reply, viewOf(request), page, status);
  const refuse = (reply: FastifyReply, status: number, message: string): FastifyReply =>
    show(reply.request, reply, refusal(status, message), status);
  const sessionOf = guard(app, sessions, refuse);
  // The warehouse takes it as no text at all: whatever is named with it is not there.
  app.addHook('onRequest', async (request, reply) =>
    request.url.includes('%00') ? refuse(reply, 404, 'There is nothing of that name here.') : undefined,
  );

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytes },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const { status, message } = told(error);
    if (status >= 500)
      deps.trouble(`${request.method} ${request.routeOptions.url ?? ''} of the dashboard failed`, error);
    return refuse(reply, status, message);
  });

  /** A page of those who are signed in; undefined is 404. */
  const page = (
    path: string,
    make: (view: View, request: Asked, signal: AbortSignal) => Promise<Page | undefined>,
  ): void => {
    app.get(path, async (request, reply) => {
      const leaving = new AbortController();
      const leave = (): void => leaving.abort();
      request.raw.socket.once('close', leave);
      try {
        const open = await openRejects(deps.db);
        const view = viewOf(
          request,
          open.reduce((sum, each) => sum + each.rejects, 0),
        );
        const made = await make(view, askedOf(request), leaving.signal);
        return send(
          reply,
          view,
          made ?? refusal(404, 'There is nothing of that name here.'),
          made === undefined ? 404 : 200,
        );
      } finally {
        request.raw.socket.off('close', leave);
      }
    });
  };

  page('/', (view, { query }) => overview(deps, view, query.pipeline));
  page('/streams', (view, { query }) => streamsPage(deps, view, query.pipeline));
  page('/streams/:pipeline/:stream', (view, { param }) =>
    streamPage(deps, view, { pipeline: param('pipeline'), stream: param('stream') }),
  );
  page('/runs', (view, { query }) =>
    runsPage(deps, view, {
      pipeline: query.pipeline,
      kind: query.kind,
      status: query.status,
      before: query.before,
    }),
  );
  page('/runs/:run', async (view, { param }) =>
    isNumber(param('run')) ? runPage(deps, view, param('run')) : undefined,
  );
  page('/requests/:pipeline/:run', (view, { param }) =>
    requestPage(deps, view, { pipeline: param('pipeline'), runId: param('run') }),
  );
  page('/backfill', (view, { query }) =>
    backfillPage(
      deps,
      view,
      { pipeline: query.pipeline, from: query.from, to: query.to, streams: [] },
      undefined,
    ),
  );
  page('/backfill/plan', (view, { query, all }, signal) =>
    backfillPage(
      deps,
      view,
      { pipeline: query.pipeline, from: query.from, to: query.to, streams: all('streams') },
      { signal },
    ),
  );
  page('/rejects', (view, { query }) =>
    rejectsPage(deps, view, {
      pipeline: query.pipeline,
      stream: query.stream,
      code: query.code,
      all: query.all,
      page: query.page,
    }),
  );
  page('/rejects/:reject', async (_view, { param }) =>
    isNumber(param('reject')) ? rejectPage(deps, param('reject')) : undefined,
  );
  page('/schema-changes', (view, { query }) => changesPage(deps, view, query.page));

  door(app, deps, sessions, sessionOf, show);
  await app.register(async (scope) => actions(scope, deps, sessionOf, refuse));
  events(app, deps, sessionOf);
}

/** The address of a request, in parts. */
interface Asked {
  /** Values that are empty are not there: a form sends all its fields. */
  readonly query: Query;
  readonly all: (name: string) => readonly string[];
  readonly param: (name: string) => string;
}

function askedOf(request: FastifyRequest): Asked {
  const given = new URL(request.url, 'http://any').searchParams;
  const params: Readonly<Record<string, unknown>> =
    typeof request.params === 'object' && request.params !== null
      ? Object.fromEntries(Object.entries(request.params))
      : {};
  return {
    query: Object.fromEntries([...given].reverse().filter(([, value]) => value !== '')),
    all: (name) => given.getAll(name).filter((value) => value !== ''),
    param: (name) => String(params[name] ?? ''),
  };
}

const isNumber = (text: string): boolean => /^\d{1,18}$/.test(text);

/** What a person is told of an error: our own words as they are, of all others only that it happened. */
function told(error: FastifyError | TidemarkError): { readonly status: number; readonly message: string } {
  if (error instanceof UnknownDag || error instanceof UnknownRun)
    return { status: 404, message: error.message };
  if (error instanceof AlreadyActive || error instanceof NothingActive || error instanceof RunIdTaken)
    return { status: 409, message: error.message };
  if (error instanceof Misconfigured) return { status: 400, message: error.message };
  if (error instanceof TidemarkError) return { status: 503, message: error.message };
  const { statusCode } = error;
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return { status: statusCode, message: error.message };
  if (isUnwritable(error)) return { status: 503, message: 'The warehouse takes no writes; try again later.' };
  if (isPassing(error)) return { status: 503, message: 'The warehouse does not answer; try again later.' };
  return { status: 500, message: 'Something went wrong here; the log of the server says what.' };
}
