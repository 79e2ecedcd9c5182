/** The shapes of the API as zod schemas: they check requests, give the types, and make `openapi.json`. */

import { z } from 'zod';
import { integer } from '../../config/values.ts';

/** Shapes with a name: the components of `openapi.json`. */
export const shapes = z.registry<{ readonly id: string }>();

const instant = z.string().meta({ format: 'date-time' });
const count = z.int().min(0);
const text = z.string();

/** One of these words. */
const oneOf = (words: string) => z.enum(words.split(' '));

export const dagName = text
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'not the name of a DAG')
  .describe('Name of a DAG: a pipeline, or nightly for all of them.');

// The part of a night has the id of the night, the name of its pipeline and what it does.
export const runId = text
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,159}$/, 'not the id of a run')
  .describe('Id of a run.');

const handoff = z.object({
  dag: text,
  dagRunId: text.describe('Id of the run at the workflow engine.'),
  params: text,
  status: oneOf('pending starting started succeeded failed unknown'),
  engineStatus: text.nullable().describe("The engine's own status."),
  error: text.nullable(),
  changedAt: instant,
});

export const run = z
  .object({
    runId,
    pipeline: text.describe('The requested DAG.'),
    does: oneOf('sync full reconcile backfill replay'),
    trigger: oneOf('schedule api manual'),
    status: oneOf(
      'queued running stuck interrupted lost succeeded partly_failed failed stopped needs_attention',
    ).describe('The first five are active: stuck has no progress; interrupted and lost are taken up again.'),
    params: text.describe('As requested, e.g. FROM=2024-01-01 TO=2024-02-01.'),
    queuedAt: instant,
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    runs: z.array(text).describe('Numbers of its runs, as `tidemark runs` lists them.'),
    partOf: text.nullable().describe('The night (a run of nightly) that it is a part of.'),
    parts: z.record(text, count).nullable().describe('Of a night: how many of its parts have each status.'),
    received: count.describe('Records received so far.'),
    changed: count.describe('Rows inserted, updated or deleted so far.'),
    rejected: count.describe('Records that could not become rows.'),
    error: z.object({ code: text, message: text }).nullable(),
    stopping: z.boolean().describe('A stop was requested and the run has not ended yet.'),
    againAt: instant.nullable().describe('When a failed scheduled request is retried; null for others.'),
    retryOf: text.nullable().describe('The run that it repeats.'),
    retriedBy: text.nullable().describe('The newest run that repeats it.'),
    handoffs: z.array(handoff).optional().describe('In answers about one run: the DAG runs it triggered.'),
  })
  .describe('One request to run a DAG, from the moment it was queued to its end.')
  .register(shapes, { id: 'Run' });

export const dag = z
  .object({
    name: text,
    about: text,
    configured: z.boolean(),
    schedule: z.array(z.object({ does: text, cron: text, timeZone: text })),
    nextAt: instant.nullable().describe('When it is due next.'),
    last: run.nullable(),
  })
  .register(shapes, { id: 'Dag' });

const step = z.object({
  name: text,
  pipeline: text,
  stream: text,
  slice: text.nullable(),
  status: text,
  startedAt: instant.nullable(),
  received: count,
  expected: count.nullable(),
});

export const receipt = z
  .object({ pipeline: text, stream: text, expected: count.nullable(), read: count, stored: count })
  .describe('expected: as the source states; read: records read; stored: records stored.');

export const status = z
  .object({
    name: text,
    status: text.describe('As Run.status; never_run if there was no run.'),
    runId: text.nullable(),
    trigger: text.nullable(),
    params: text,
    startedAt: instant.nullable(),
    finishedAt: instant.nullable(),
    steps: z.array(step).describe('The streams of the run, and the slices that are being read.'),
    receipts: z.array(receipt),
    run: run.nullable(),
    dag,
  })
  .describe('The active run of a DAG, else its newest, with what it is doing.')
  .register(shapes, { id: 'Status' });

export const logLine = z
  .object({ seq: z.int(), at: instant, level: oneOf('info warn error'), message: text })
  .register(shapes, { id: 'LogLine' });

export const dagList = z.object({ dags: z.array(dag) }).register(shapes, { id: 'Dags' });

export const runPage = z
  .object({ runs: z.array(run), next: text.nullable().describe('`before` of the next page.') })
  .register(shapes, { id: 'Runs' });

export const logPage = z
  .object({ lines: z.array(logLine), next: z.int().describe('`after` of the next request.') })
  .register(shapes, { id: 'LogLines' });

export const failed = z
  .object({ status: z.literal('error'), message: text, active: run.optional() })
  .register(shapes, { id: 'Error' });

/** The parts of requests that are checked. */
export const ofDag = z.object({ params: z.strictObject({ dagName }) });
export const ofRun = z.object({ params: z.strictObject({ dagName, runId }) });

const params =
  'NAME=value pairs with spaces between them; values may be quoted. FROM and TO (a backfill, half open, UTC), ' +
  'STREAMS (names with commas), FULL=true, DOES=sync|full|reconcile|backfill.';

export const start = ofDag.extend({
  body: z
    .strictObject({
      params: text.max(4096).optional().describe(params),
      runId: runId.optional().describe('The same id with the same parameters gives the same run.'),
    })
    .nullish(),
});

export const retry = ofDag.extend({ body: z.strictObject({ runId }) });

export const history = ofDag.extend({
  query: z.strictObject({
    limit: integer(1, 200).default(50),
    before: runId.optional().describe('Continue after this run: `next` of the previous page.'),
  }),
});

const line = integer(0, 1e15).optional();
const after = line.describe('Only lines after this one: `next` of the previous answer.');
const tail = line.describe('Only the last lines, up to 1000.');

export const log = ofRun.extend({ query: z.strictObject({ tail, after }) });
export const logStream = ofRun.extend({ query: z.strictObject({ after }) });
