/** The job of a CSV report at the ads platform: how it is asked for, and what its states mean. */

import { Missing, Refused, UnexpectedContent } from '../../../core/errors.ts';
import { isObject } from '../../../core/json-object.ts';
import type { Json, Request } from '../../../core/request.ts';
import { days } from '../../../core/time.ts';
import { at, idBy, textAt } from '../../../reading/offset-list.ts';
import type { Jobs, Look } from '../../../reading/report-jobs.ts';
import { ofAccount } from '../ads.ts';
import { csvDimensions, csvMetrics, csvRequired, csvStatuses, csvStatusesOfAds } from './fields.ts';
import { namedIn } from './names-field.ts';
import type { Reports } from './reports.ts';
import { lackedIn } from './unsupported.ts';

export const createEndpoint = '/ad_accounts/{id}/async_reports';
export const lookEndpoint = '/ad_accounts/{id}/async_reports/{report_id}';

/** What a report is asked for, less what the server has said that it does not know; kept for a run. */
export interface Question {
  readonly dimensions: () => readonly string[];
  readonly metrics: () => readonly string[];
  readonly statuses: () => readonly string[];
  /** How much is left out. */
  readonly left: () => number;
  /** Leaves out what the server lacks by its refusal. False where that cannot be told, or cannot be left out. */
  readonly lessen: (refusal: Refused) => boolean;
  /** The statuses to ask for instead where the refusal is about statuses and names none; undefined where it is not, or all are of ads. */
  readonly ofAds: (refusal: Refused) => readonly string[] | undefined;
}

/** What is asked for in any case: without it rows could not be told apart, or would say less than those that they replace. */
const indispensable: ReadonlySet<string> = new Set([...csvRequired, 'ACTIVE']);

export const question = (note: (message: string) => void): Question => {
  const refused = new Set<string>();
  const rest = (names: readonly string[]): readonly string[] => names.filter((name) => !refused.has(name));
  const lists = [csvDimensions, csvMetrics, csvStatuses];
  return {
    dimensions: () => rest(csvDimensions),
    metrics: () => rest(csvMetrics),
    statuses: () => rest(csvStatuses),
    left: () => refused.size,
    lessen({ whole, message }) {
      const lacked = lists.map((list) => lackedIn(whole, rest(list), indispensable));
      const names = lacked.flatMap((some) => some ?? []);
      if (names.length === 0 || lacked.includes(undefined)) return false;
      for (const name of names) refused.add(name);
      note(`${createEndpoint}: the server has no ${names.join(', ')}; the reports come without (${message})`);
      return true;
    },
    ofAds({ whole }) {
      const isOfStatuses =
        /status/i.test(whole.join(' ')) && lists.every((list) => namedIn(whole, list).length === 0);
      const statuses = rest(csvStatuses);
      const less = statuses.filter((status) => csvStatusesOfAds.includes(status));
      return isOfStatuses && less.length < statuses.length ? less : undefined;
    },
  };
};

/** The days of a report: `to` is the midnight behind the last one. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

const dayText = (at: Date): string => at.toISOString().slice(0, 10);

/** The jobs of one account and span of days. */
export const jobsOf = (reports: Reports, account: string, { from, to }: Span, asked: Question): Jobs => {
  const { http, note, patience, time } = reports;
  const first = dayText(from);
  // The vendor's end is inclusive.
  const last = dayText(new Date(to.getTime() - days(1)));
  const requestOf = (statuses: readonly string[]): Request => ({
    method: 'POST',
    path: ofAccount(account, '/async_reports'),
    endpoint: createEndpoint,
    idempotent: false,
    body: {
      name: `tidemark-${first}-${last}`,
      granularity: 'DAY',
      dimensions: asked.dimensions(),
      metrics: asked.metrics(),
      statuses,
      report_start: `${first}T00:00:00Z`,
      report_end: `${last}T00:00:00Z`,
    },
  });
  return {
    what: createEndpoint,
    request: `DAY ${first} to ${last}, ${asked.dimensions().length} dimensions, ${asked.metrics().length} metrics`,
    async create(signal) {
      let ofAds: readonly string[] | undefined;
      for (;;) {
        const left = asked.left();
        try {
          const { body } = await http.send(requestOf(ofAds ?? asked.statuses()), signal);
          const id = idIn(body);
          if (id !== '') return id;
          throw new UnexpectedContent(`${createEndpoint}: the answer names no report: it has no id`);
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          // Another report, asked for at the same time, may have been refused the same: by now less is asked for.
          if (asked.left() > left || asked.lessen(error)) continue;
          // What one report is refused with says nothing of the others: each is asked for in full first.
          ofAds = ofAds === undefined ? asked.ofAds(error) : undefined;
          if (ofAds === undefined) throw error;
          note(
            `${createEndpoint}: refused for its statuses; asked for with the statuses ${ofAds.join(', ')} alone`,
          );
        }
      }
    },
    async look(id, signal) {
      const path = ofAccount(account, `/async_reports/${encodeURIComponent(id)}`);
      try {
        return lookOf((await http.send({ method: 'GET', path, endpoint: lookEndpoint }, signal)).body);
      } catch (error) {
        if (error instanceof Missing) return { is: 'gone', reason: error.message };
        throw error;
      }
    },
    ...(patience !== undefined && { patience }),
    ...time,
  };
};

/** What an answer holds, and what stands in it under a name of its own: the contract shows neither a report's fields nor its wrapper. */
const partsOf = (body: Json): readonly Json[] => [
  body,
  ...(typeof body === 'object' && body !== null ? Object.values(body) : []),
];

/** The vendor says `id`, the contract's path `report_id`. */
const idIn = (body: Json): string =>
  partsOf(body)
    .map(idBy('id', 'report_id'))
    .find((id) => id !== '') ?? '';

/** The vendor says `report_url`; without that, the one field whose name says that it is an address. Empty: none, or nothing tells which. */
const addressIn = (body: Json): string => {
  const told = partsOf(body).find((part) => at(part, 'report_url') !== undefined);
  if (told !== undefined) return textAt(told, 'report_url') ?? '';
  const addresses = partsOf(body).flatMap((part) =>
    isObject(part)
      ? Object.keys(part).flatMap((key) => (isAddress.test(key) ? (textAt(part, key) ?? []) : []))
      : [],
  );
  const [only = ''] = addresses;
  return new Set(addresses).size === 1 ? only : '';
};

const isAddress = /(^|_|[a-z])(url|uri|link)$/i;

/** The vendor says PROCESSING, READY, EXPIRED, FAILED; the contract does not say which words there are. */
const done = /^(READY|COMPLETED?|DONE|SUCCE(SS|EDED)|FINISHED)$/i;
const failed = /^(FAILED|FAILURE|ERROR|CANCELL?ED|REJECTED)$/i;

/**
 * A word that is not known is waited out, unless the server says that the report is completed: then it is a failure where there is nothing to
 * fetch. A report that is ready gets its address a moment later at some servers: that is waited for too.
 */
const lookOf = (body: Json): Look => {
  const part = partsOf(body).find((one) => textAt(one, 'status') !== undefined);
  const status = textAt(part, 'status');
  if (status === undefined) throw new UnexpectedContent(`${lookEndpoint}: the answer has no status`);
  const address = addressIn(part);
  const isCompleted = (at(part, 'completed_at') ?? null) !== null;
  const said = `the platform says ${JSON.stringify(status.slice(0, 60))}`;
  if (failed.test(status)) return { is: 'failed', reason: said };
  if (/^EXPIRED$/i.test(status)) return { is: 'expired', reason: said };
  if (done.test(status)) return address === '' ? { is: 'working' } : { is: 'ready', address };
  if (isCompleted && !/^(PROCESSING|PENDING|QUEUED|RUNNING|SUBMITTED)$/i.test(status))
    return { is: 'failed', reason: `${said} of a report that is completed` };
  return { is: 'working' };
};
