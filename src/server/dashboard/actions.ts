/** Everything that a form may do. Each leads to the page of what it did. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { type ListedReject, rejects } from '../../queries/reject-list.ts';
import type { Ask, DagRun } from '../../scheduler/control.ts';
import { Conflict, paramsOf } from '../../scheduler/run-request.ts';
import { type AuditedAttempt, audit, fieldsOf } from '../api/audit.ts';
import { Rejected } from '../api/envelope.ts';
import { requestPath } from './components.ts';
import type { DashboardDeps } from './layout.ts';
import { askOfForm } from './pages/backfill.ts';
import { isNumber } from './pages/runs.ts';
import { field } from './session.ts';

const by = 'dashboard';

interface Names {
  readonly Params: { readonly pipeline: string; readonly run: string; readonly reject: string };
}

/** In a scope of its own. */
export function actions(app: FastifyInstance, deps: DashboardDeps): void {
  const { control, db, replay, sendTests } = deps;
  const attemptOf = ({ session, params, body }: FastifyRequest): AuditedAttempt => ({
    role: session?.role ?? 'none',
    pipeline: fieldsOf(params).pipeline ?? field(body, 'pipeline'),
    dagRunId: fieldsOf(params).run,
    params:
      fieldsOf(params).reject ??
      (field(body, 'from') && `FROM=${field(body, 'from')} TO=${field(body, 'to')}`),
  });
  audit(app, deps, attemptOf, ' of the dashboard');

  const start = async (reply: FastifyReply, ask: Ask): Promise<FastifyReply> => {
    try {
      return led(reply, await control.start(ask, { params: paramsOf(ask), by }));
    } catch (error) {
      // The same run is active already: that is the page that the person wants to see.
      const active = error instanceof Conflict ? error.active : undefined;
      if (active !== undefined && sameAsk(active, ask)) return led(reply, active);
      throw error;
    }
  };

  const starts = { start: 'sync', full: 'full', reconcile: 'reconcile' } as const;
  for (const [path, does] of Object.entries(starts))
    app.post<Names>(`/pipelines/:pipeline/${path}`, ({ params: { pipeline } }, reply) =>
      start(reply, { pipeline, does }),
    );

  app.post('/backfill', async ({ body }, reply) => {
    const streams = body instanceof URLSearchParams ? body.getAll('streams') : [];
    const [pipeline, from, to] = ['pipeline', 'from', 'to'].map((name) => field(body, name));
    const ask = askOfForm({ pipeline, from, to, streams });
    if (typeof ask === 'string') throw new Rejected(400, ask);
    return start(reply, ask);
  });

  const settle =
    (before: string, status: string) =>
    ({ rejectId }: ListedReject) =>
      sql`update ops.rejects set status = ${status}, resolved_at = case ${status} when 'dismissed' then now() end
      where reject_id = ${rejectId}::bigint and status = ${before}`.execute(db);
  const ofRejects = {
    replay: ({ pipeline, rejectId }: ListedReject) => replay(pipeline, rejectId),
    dismiss: settle('open', 'dismissed'),
    reopen: settle('dismissed', 'open'),
  };
  for (const [name, act] of Object.entries(ofRejects))
    app.post<Names>(`/rejects/:reject/${name}`, async ({ params: { reject } }, reply) => {
      const [found] = isNumber(reject) ? await rejects(db, { rejectId: reject, all: true, limit: 1 }) : [];
      if (found === undefined) throw new Rejected(404, 'There is no reject of that number.');
      await act(found);
      return reply.redirect(`/rejects/${reject}?did=${name}`, 303);
    });

  app.post('/alerts/test', async (_request, reply) => {
    if ((await sendTests()).length > 0) return reply.redirect('/alerts', 303);
    throw new Rejected(409, 'No channel of messages is set: docs/guides/alerts.md names their variables.');
  });

  app.post<Names>('/requests/:pipeline/:run/stop', async ({ params: { pipeline, run } }, reply) => {
    // A page that was open for long must not stop the run after the one it shows.
    const active = (await control.status(pipeline)).run;
    if (active !== null && active.runId !== run && active.finishedAt === null)
      throw new Rejected(409, 'Another run is active now; this one is over.');
    return led(reply, await control.stop(pipeline, { by }));
  });

  app.post<Names>('/requests/:pipeline/:run/retry', async ({ params: { pipeline, run } }, reply) =>
    led(reply, await control.retry(pipeline, run, { by })),
  );
}

const sameAsk = (active: DagRun, ask: Ask): boolean =>
  active.does === ask.does && active.params === paramsOf(ask);

const led = (reply: FastifyReply, run: DagRun): FastifyReply => reply.redirect(requestPath(run), 303);
