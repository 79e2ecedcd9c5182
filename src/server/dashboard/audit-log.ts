/** Writes down what people do, as the control API does. */

import type { FastifyInstance } from 'fastify';
import { audit } from '../api/audit.ts';
import type { DashboardDeps } from './deps.ts';
import { fieldOf, type SessionOf } from './security-headers.ts';

/** For every route of this scope. Put before them. */
export const audited = (app: FastifyInstance, deps: DashboardDeps, sessionOf: SessionOf): void =>
  audit(
    app,
    deps,
    (request) => ({
      role: sessionOf(request)?.role ?? 'nobody',
      pipeline: fieldOf(request.body, 'pipeline'),
      dagRunId: fieldOf(request.body, 'runId') ?? fieldOf(request.body, 'run'),
      params: ['from', 'to']
        .flatMap((name) => {
          const value = fieldOf(request.body, name);
          return value === undefined ? [] : [`${name.toUpperCase()}=${value}`];
        })
        .join(' '),
    }),
    ' of the dashboard',
  );
