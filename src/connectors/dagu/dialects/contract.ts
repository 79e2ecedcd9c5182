/** The contract: start and status of a DAG in an envelope. It has neither a list nor a history, and shows no fields. */

import { Refused, UnexpectedContent } from '../../../core/errors.ts';
import { isObject, type JsonObject } from '../../../core/record.ts';
import type { Answer, Http, Json, Request } from '../../../core/stream.ts';
import { instantText, isFilled, standingIn, textOf } from '../fields.ts';
import { type DagRunRecord, engineRun, firstAs, runIn } from '../transform.ts';
import { each, ifBusy, pagesOf, route, sendOptional } from '../workflow.ts';
import type { DaguDialect } from './dialect.ts';

export const statusRequest = (dag: string): Request => route('/api/v1', 'GET', '/dags/{dag}/status', [dag]);

/** `dags`: names of the DAGs, because the contract promises no list. */
export const contract = (http: Http, dags: readonly string[]): DaguDialect => {
  /** The status of each DAG as Dagu's record of its newest run; none of a DAG that the engine does not know. */
  async function* statuses(signal: AbortSignal) {
    const ask = async (dag: string, until: AbortSignal) => {
      const answer = await sendOptional(http, statusRequest(dag), until);
      return answer && { dag, record: recordOf(answer.body, dag) };
    };
    for await (const found of each(dags, (dag) => dag, ask, signal)) if (found) yield found;
  }
  return {
    about: 'API: status, start and stop of each DAG (contract); no history',
    takesRunId: false,
    dags(list, _, signal) {
      async function* records() {
        for await (const { dag, record } of statuses(signal))
          yield* list({ dags: [{ dag: { name: dag }, latestDAGRun: record }] });
      }
      return pagesOf(records());
    },
    async *history(_, signal) {
      for await (const { record } of statuses(signal)) yield [currentRun(record)];
    },
    run: async () => undefined,
    async start(dag, { params }, signal) {
      // Sent once; without parameters it has no body.
      const more = { idempotent: false, bodiless: true, ...(params !== '' && { body: { params } }) } as const;
      const request = route('/api/v1', 'POST', '/dags/{dag}/start', [dag], more);
      const idIn = ({ body }: Answer) => runIn(daguRecord(payloadOf(body))).dag_run_id;
      return { runId: (await http.send(request, signal).then(idIn).catch(ifBusy(dag))) || undefined };
    },
    async status(dag, _, signal) {
      const { body, date } = await http.send(statusRequest(dag), signal);
      const run = currentRun(recordOf(body, dag));
      return run.dag_run_id === '' ? undefined : { ...engineRun(run), ...(date && { answeredAt: date }) };
    },
  };
};

/**
 * `data` of the contract's envelope; the members of `details` ("execution details") count as those of the status. Throws
 * `Refused` for the envelope of an error, under any HTTP status.
 */
const payloadOf = (body: Json): JsonObject => {
  const { status, data, message } = isObject(body) ? body : {};
  if (status === 'error') throw new Refused(`answered with an error: ${textOf(message)}`, 200, []);
  const { details, ...others } = status === 'success' && isObject(data) ? data : {};
  return isObject(details) ? { ...others, ...details } : { ...others, ...(isFilled(details) && { details }) };
};

/** A status as a record of Dagu. Throws `UnexpectedContent` where it has no state. */
export const recordOf = (body: Json, dag: string): JsonObject => {
  const record = { ...daguRecord(payloadOf(body)), name: dag };
  if (standingIn('run', record).word === null)
    throw new UnexpectedContent(`the status of ${dag} has no word for its state`);
  return record;
};

/** The current execution of a DAG by its record. Without an id it is named by its start. */
export const currentRun = (record: JsonObject): DagRunRecord => {
  const run = runIn(record);
  const begun_at = instantText(run.startedAt);
  const dag_run_id = run.dag_run_id || (begun_at ? `started:${begun_at}` : '');
  return { ...run, begun_at, dag_run_id, isCurrent: true };
};

/** A run under Dagu's names: the first spelling that is filled, of those that engines of the contract use (vendor-facts 3.3). */
const daguRecord = ({ steps, runningSteps, ...members }: JsonObject): JsonObject => {
  const list = [steps, runningSteps].find((one) => Array.isArray(one)) ?? [];
  return {
    ...firstAs(labelledOf(members), 'dagRunId', 'runId', 'requestId'),
    [Array.isArray(steps) ? 'nodes' : 'runningNodes']: list.map(stepOf),
  };
};

/** A status is a word, or a number with a text beside it. */
const labelledOf = ({ status, statusText, ...members }: JsonObject): JsonObject =>
  typeof status === 'string'
    ? { statusLabel: status, ...members }
    : { ...members, status, ...(isFilled(statusText) && { statusLabel: statusText }) };

/** The contract may name a step by a text alone. */
const stepOf = (record: Json): Json => {
  if (!isObject(record)) return { step: { name: record } };
  const { name, depends, step, ...members } = labelledOf(record);
  return { ...members, step: { name, depends, ...(isObject(step) && step) } };
};
