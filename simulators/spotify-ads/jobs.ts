/** Report jobs: asked for, made, ready or not (vendor-facts 2.5). */

import type { Answer, Call, Route } from '../shared/http.ts';
import { type Body, bodyOf } from './body.ts';
import { csvMetric } from './fields.ts';
import { time } from './json.ts';
import type { Job } from './model.ts';
import type { Site } from './site.ts';
import { uuid } from './state.ts';
import type { Storage } from './storage.ts';

const dimensions: ReadonlySet<string> = new Set([
  'AD_ACCOUNT_NAME',
  'AD_ACCOUNT_CURRENCY',
  'CAMPAIGN_NAME',
  'CAMPAIGN_STATUS',
  'CAMPAIGN_OBJECTIVE',
  'AD_SET_NAME',
  'AD_SET_STATUS',
  'AD_SET_BUDGET',
  'AD_SET_COST_MODEL',
  'AD_NAME',
]);
const statuses: ReadonlySet<string> = new Set([
  'ACTIVE',
  'COMPLETED',
  'STOPPED',
  'PAUSED',
  'PENDING_APPROVAL',
  'REJECTED',
]);

const day = 86_400_000;
const path = '/ad_accounts/{id}/async_reports';

export const jobRoutes = (site: Site, storage: Storage): readonly Route[] => [
  { method: 'POST', path, inContract: true, handle: (call) => create(site, storage, call) },
  { method: 'GET', path: `${path}/{report}`, inContract: true, handle: (call) => look(site, storage, call) },
];

function create(site: Site, storage: Storage, call: Call): Answer {
  const owner = site.owner(call);
  const body = bodyOf(site, call, ['name', 'granularity', 'dimensions', 'metrics']);
  const refuse = (message: string, code: string) => site.refused(400, message, `ILLEGAL.${code}`);
  const name = String(body.name);
  if (!/^[A-Za-z0-9_-]{2,120}$/.test(name))
    throw refuse('name must have 2 to 120 letters, digits, _ or -', 'NAME');
  const granularity = (['DAY', 'LIFETIME'] as const).find((one) => one === body.granularity);
  if (granularity === undefined) throw refuse('granularity must be DAY or LIFETIME', 'GRANULARITY');
  const span = spanOf(body, granularity);
  if (typeof span === 'string') throw refuse(span, 'REPORT_DATES');
  const asked = (field: string, has: (one: string) => boolean): readonly string[] => {
    const all: readonly unknown[] = Array.isArray(body[field]) ? body[field] : [];
    const strange = all.filter((one) => typeof one !== 'string' || !has(one) || site.unknownFields.has(one));
    if (strange.length > 0)
      throw refuse(`${field}: ${strange.join(', ')} is not one of the values accepted`, field.toUpperCase());
    return all.map(String);
  };
  const job: Job = {
    id: uuid(site.state.seed + 99, storage.jobs.size),
    accountId: owner.id,
    submittedAt: site.clock.now().getTime(),
    name,
    granularity,
    dimensions: asked('dimensions', (one) => dimensions.has(one)),
    metrics: asked('metrics', (one) => csvMetric(one) !== undefined),
    // The vendor's default: everything that is not active is silently left out.
    statuses: new Set(
      body.statuses === undefined ? ['ACTIVE'] : asked('statuses', (one) => statuses.has(one)),
    ),
    campaignIds: new Set(asked('campaign_ids', () => true)),
    ...span,
    polls: 0,
    outcome: storage.outcomes.shift() ?? 'READY',
  };
  if (job.dimensions.length === 0 || job.metrics.length === 0)
    throw refuse('dimensions and metrics must not be empty', 'BODY');
  storage.jobs.set(job.id, job);
  return site.json({ id: job.id }, 201);
}

/** The days asked for, or what is wrong with them. */
const spanOf = (body: Body, granularity: Job['granularity']): { from: number; to: number } | string => {
  const { report_start: first, report_end: last } = body;
  if (first === undefined && last === undefined && granularity === 'LIFETIME')
    return { from: 0, to: Number.POSITIVE_INFINITY };
  const from = Date.parse(String(first));
  const end = Date.parse(String(last));
  if (Number.isNaN(from) || Number.isNaN(end)) return 'report_start and report_end are required for DAY';
  if (end < from) return 'report_end lies before report_start';
  if (end - from > 365 * day) return 'at most 365 days';
  return { from: Math.floor(from / day) * day, to: Math.floor(end / day) * day + day };
};

function look(site: Site, storage: Storage, call: Call): Answer {
  const owner = site.owner(call);
  const job = storage.jobs.get(call.params.report ?? '');
  if (job === undefined || job.accountId !== owner.id)
    throw site.refused(404, 'The report was not found.', 'NOT_FOUND');
  job.polls += 1;
  const now = site.clock.now().getTime();
  const submitted_at = time(job.submittedAt);
  const { polls = 1, seconds = 0 } = storage.options;
  const making = job.polls <= polls || now < job.submittedAt + seconds * 1000;
  const status = making ? 'PROCESSING' : job.outcome;
  if (status !== 'READY') return site.json({ status, submitted_at });
  return site.json({ status, submitted_at, completed_at: time(now), report_url: storage.addressOf(job) });
}
