/** Everything that a form may do. Each asks `Control` and leads to the page that shows what came of it. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import { run as readRun } from '../../queries/run-history.ts';
import type { Ask, DagRun } from '../../scheduler/control.ts';
import { AlreadyActive } from '../../scheduler/request-errors.ts';
import { paramsOf } from '../../scheduler/run-request.ts';
import { audited } from './audit-log.ts';
import type { DashboardDeps } from './deps.ts';
import { askOfForm } from './pages/backfill.ts';
import { askOf } from './requests.ts';
import { fieldOf, type Refuse, type SessionOf } from './security-headers.ts';

const by = 'dashboard';

/** In a scope of its own. */
export function actions(
  app: FastifyInstance,
  deps: DashboardDeps,
  sessionOf: SessionOf,
  refuse: Refuse,
): void {
  const { control, db } = deps;
  audited(app, deps, sessionOf);

  const start = async (reply: FastifyReply, ask: Ask): Promise<FastifyReply> => {
    try {
      return toRequest(reply, await control.start(ask, { params: paramsOf(ask), by }));
    } catch (error) {
      // What was asked for is going already: that is what the person wants to see.
      if (error instanceof AlreadyActive && sameAsk(error.active, ask)) return toRequest(reply, error.active);
      throw error;
    }
  };

  app.post('/start', async ({ body }, reply) => {
    const pipeline = fieldOf(body, 'pipeline');
    if (pipeline === undefined) return refuse(reply, 400, 'The form names no pipeline.');
    return start(reply, { pipeline, does: 'sync' });
  });

  app.post('/backfill', async ({ body }, reply) => {
    const ask = askOfForm({
      pipeline: fieldOf(body, 'pipeline'),
      from: fieldOf(body, 'from'),
      to: fieldOf(body, 'to'),
      streams: body instanceof URLSearchParams ? body.getAll('streams') : [],
    });
    return 'wrong' in ask ? refuse(reply, 400, ask.wrong) : start(reply, ask);
  });

  app.post('/stop', async ({ body }, reply) => {
    const { pipeline, runId } = named(body);
    // A page that was open for long must not stop the run after the one it shows.
    const { run } = await control.status(pipeline);
    if (run !== null && run.runId !== runId && run.finishedAt === null)
      return refuse(reply, 409, 'Another run goes on now; this one is over.');
    return toRequest(reply, await control.stop(pipeline, { by }));
  });

  app.post('/retry', async ({ body }, reply) => {
    const { pipeline, runId } = named(body);
    return toRequest(reply, await control.retry(pipeline, runId, { by }));
  });

  app.post('/again', async ({ body }, reply) => {
    const number = fieldOf(body, 'run') ?? '';
    const run = /^\d{1,18}$/.test(number) ? await readRun(db, number) : undefined;
    const ask = run && askOf(run);
    return ask === undefined
      ? refuse(reply, 404, 'There is no such run to ask for again.')
      : start(reply, ask);
  });
}

const named = (body: unknown): { readonly pipeline: string; readonly runId: string } => ({
  pipeline: fieldOf(body, 'pipeline') ?? '',
  runId: fieldOf(body, 'runId') ?? '',
});

const sameAsk = (active: DagRun, ask: Ask): boolean =>
  active.does === ask.does && active.params === paramsOf(ask);

const toRequest = (reply: FastifyReply, run: DagRun): FastifyReply =>
  reply.redirect(`/requests/${encodeURIComponent(run.pipeline)}/${encodeURIComponent(run.runId)}`, 303);
