/** The shapes of the API, as JSON schemas: requests are checked by them, and `openapi.json` is made of them. */

const instant = { type: 'string', format: 'date-time' } as const;
const maybe = <T extends { readonly type: string }>(schema: T) =>
  ({ ...schema, type: [schema.type, 'null'] }) as const;

export const dagName = {
  type: 'string',
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: 'Name of a DAG: a pipeline, or nightly for all of them.',
} as const;

export const runId = {
  type: 'string',
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$',
  description: 'Id of a run.',
} as const;

const counts = { type: 'integer', minimum: 0 } as const;

export const run = {
  $id: 'Run',
  type: 'object',
  description: 'One request to run a DAG, from the moment it was queued to its end.',
  required: [
    'runId',
    'pipeline',
    'does',
    'trigger',
    'status',
    'params',
    'queuedAt',
    'startedAt',
    'finishedAt',
    'runs',
    'received',
    'changed',
    'rejected',
    'error',
    'stopping',
    'againAt',
  ],
  properties: {
    runId,
    pipeline: { type: 'string', description: 'The DAG that was asked for.' },
    does: { type: 'string', enum: ['sync', 'full', 'reconcile', 'backfill', 'replay'] },
    trigger: { type: 'string', enum: ['schedule', 'api', 'manual'] },
    status: {
      type: 'string',
      enum: [
        'queued',
        'running',
        'succeeded',
        'partly_failed',
        'failed',
        'interrupted',
        'stopped',
        'lost',
        'needs_attention',
        'stuck',
      ],
      description:
        'queued, running, stuck (runs without getting ahead), interrupted and lost (wait to be taken up again); over: succeeded, partly_failed, failed, stopped, needs_attention.',
    },
    params: { type: 'string', description: 'As asked, e.g. FROM=2024-01-01 TO=2024-02-01.' },
    queuedAt: instant,
    startedAt: maybe(instant),
    finishedAt: maybe(instant),
    runs: {
      type: 'array',
      items: { type: 'string' },
      description: 'Numbers of the runs it became, as `tidemark runs` knows them.',
    },
    received: { ...counts, description: 'Records received so far.' },
    changed: { ...counts, description: 'Rows inserted, updated or deleted so far.' },
    rejected: { ...counts, description: 'Records that could not become rows.' },
    error: {
      type: ['object', 'null'],
      required: ['code', 'message'],
      properties: { code: { type: 'string' }, message: { type: 'string' } },
    },
    stopping: { type: 'boolean', description: 'Somebody asked it to stop and it has not ended yet.' },
    againAt: {
      ...maybe(instant),
      description:
        'Of a request of a schedule that failed of what may pass by itself: when the same is asked for again. Null of every other, and once that began.',
    },
    handoffs: {
      type: 'array',
      description:
        'In answers about one run: what it was handed over to at the workflow engine, and what became of it there.',
      items: {
        type: 'object',
        required: ['dag', 'dagRunId', 'params', 'status', 'engineStatus', 'error', 'changedAt'],
        properties: {
          dag: { type: 'string' },
          dagRunId: {
            type: 'string',
            description: 'What the run is called there, where the engine takes ids or told one.',
          },
          params: { type: 'string' },
          status: {
            type: 'string',
            enum: ['pending', 'starting', 'started', 'succeeded', 'failed', 'unknown'],
          },
          engineStatus: { ...maybe({ type: 'string' } as const), description: "The engine's own word." },
          error: maybe({ type: 'string' } as const),
          changedAt: instant,
        },
      },
    },
  },
} as const;

export const dag = {
  $id: 'Dag',
  type: 'object',
  required: ['name', 'about', 'configured', 'schedule', 'nextAt', 'last'],
  properties: {
    name: { type: 'string' },
    about: { type: 'string' },
    configured: { type: 'boolean' },
    schedule: {
      type: 'array',
      items: {
        type: 'object',
        required: ['does', 'cron', 'timeZone'],
        properties: { does: { type: 'string' }, cron: { type: 'string' }, timeZone: { type: 'string' } },
      },
    },
    nextAt: { ...maybe(instant), description: 'When it is due next.' },
    last: { anyOf: [{ $ref: 'Run#' }, { type: 'null' }] },
  },
} as const;

export const status = {
  $id: 'Status',
  type: 'object',
  description: 'The active run of a DAG, else its newest, with what it is doing.',
  required: [
    'name',
    'status',
    'runId',
    'trigger',
    'params',
    'startedAt',
    'finishedAt',
    'steps',
    'receipts',
    'run',
    'dag',
  ],
  properties: {
    name: { type: 'string' },
    status: { type: 'string', description: 'As Run.status; never_run if there was none.' },
    runId: maybe({ type: 'string' } as const),
    trigger: maybe({ type: 'string' } as const),
    params: { type: 'string' },
    startedAt: maybe(instant),
    finishedAt: maybe(instant),
    steps: {
      type: 'array',
      description: 'Each stream of the run, and the slices that are being read now.',
      items: {
        type: 'object',
        required: ['name', 'stream', 'slice', 'status', 'startedAt', 'received', 'expected'],
        properties: {
          name: { type: 'string' },
          stream: { type: 'string' },
          slice: maybe({ type: 'string' } as const),
          status: { type: 'string' },
          startedAt: maybe(instant),
          received: counts,
          expected: maybe(counts),
        },
      },
    },
    receipts: {
      type: 'array',
      description: 'What the source stated, what was fetched, and what is accounted for in the warehouse.',
      items: {
        type: 'object',
        required: ['stream', 'expected', 'fetched', 'landed'],
        properties: { stream: { type: 'string' }, expected: maybe(counts), fetched: counts, landed: counts },
      },
    },
    run: { anyOf: [{ $ref: 'Run#' }, { type: 'null' }] },
    dag: { $ref: 'Dag#' },
  },
} as const;

export const logLine = {
  $id: 'LogLine',
  type: 'object',
  required: ['seq', 'at', 'level', 'message'],
  properties: {
    seq: { type: 'integer' },
    at: instant,
    level: { type: 'string', enum: ['info', 'warn', 'error'] },
    message: { type: 'string' },
  },
} as const;

export const refused = {
  $id: 'Error',
  type: 'object',
  required: ['status', 'message'],
  properties: {
    status: { const: 'error' },
    message: { type: 'string' },
    active: { $ref: 'Run#', description: 'With 409: the run that is in the way.' },
  },
} as const;

/** The envelope of a success. */
export const enveloped = (data: object, description: string) => ({
  description,
  type: 'object',
  required: ['status', 'data'],
  properties: { status: { const: 'success' }, data },
});

export const all = [run, dag, status, logLine, refused] as const;

/** Answers that any route may give. */
export const refusals = {
  '4xx': {
    description: 'The caller is wrong: malformed, not allowed, unknown, in conflict or too much.',
    $ref: 'Error#',
  },
  '5xx': { description: 'We are: an error of ours, or a warehouse that does not answer.', $ref: 'Error#' },
};
