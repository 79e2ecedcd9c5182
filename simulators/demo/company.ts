/** The demo's company: a Jira, an ads platform and a workflow engine, all simulated, and what changes at them. */
import type pg from 'pg';
import { Misconfigured } from '../../src/core/errors.ts';
import type { RunReport } from '../../src/core/run.ts';
import { inhabit } from '../dagu/company.ts';
import { startWorkflow } from '../dagu/server.ts';
import { startTracker, type TrackerSimulator } from '../jira/server.ts';
import type { Campaign } from '../spotify-ads/model.ts';
import { startAds } from '../spotify-ads/server.ts';
import { changeAds } from './ads-changes.ts';
import { askFacts, type Change, type Facts } from './facts.ts';
import { changeTracker, fewestIssues } from './tracker-changes.ts';
import { changeWorkflow } from './workflow-changes.ts';

const day = 86_400_000;

/** A company whose sources answer on local ports. */
export interface DemoCompany {
  /** Where each source answers, by the name that the demo prints. */
  readonly urls: readonly (readonly [string, string])[];
  /** The environment variables that configure the three sources. */
  readonly environment: Readonly<Record<string, string>>;
  /** The changes between the two syncs. Call it once. */
  change(): readonly Change[];
  /** Asks the warehouse what it holds, beside what the sources hold. `first`: the reports of the first sync. */
  facts(pool: pg.Pool, first: readonly RunReport[], changes: readonly Change[]): Promise<Facts>;
  close(): Promise<unknown>;
}

/** The pipelines that read the company; each fills the schema of its name. */
export const pipelines: readonly string[] = ['tracker', 'ads', 'workflow'];

const medium = {
  people: {},
  // Two advertisers, small enough to be read in seconds.
  advertising: {
    accounts: 2,
    campaigns: 4,
    adSetsPerCampaign: 2,
    adsPerAdSet: 3,
    days: 60,
    csv: { polls: 0 },
  },
};

const small = {
  people: { projects: 3, users: 30, years: 1 },
  advertising: { ...medium.advertising, campaigns: 2, adSetsPerCampaign: 1, adsPerAdSet: 2, days: 20 },
};

/** Throws Misconfigured if the company would be too small for the changes. */
export function checkSize(issues: number): void {
  if (issues < fewestIssues)
    throw new Misconfigured(`the demo needs at least ${fewestIssues} issues, not ${issues}`);
}

/** Twenty keys from all over the tracker. */
function keysOf({ state: { store } }: TrackerSimulator): readonly string[] {
  const apart = Math.ceil(store.byKey.length / 20);
  return store.byKey.filter((_, place) => place % apart === 0).map((position) => store.keyOf(position));
}

/** Every other campaign carries the key of the issue that asked for it. */
function nameAfterIssues(campaigns: readonly Campaign[], keys: readonly string[]): void {
  for (const [place, campaign] of campaigns.entries())
    if (place % 2 === 0) campaign.name += ` (${keys[place % keys.length]})`;
}

/** Starts the three servers. Equal seeds make equal companies all day long (UTC). */
export async function startCompany(seed: number, issues: number): Promise<DemoCompany> {
  // Midnight UTC of today: the last sprint is this week's. Ads and jobs begin a day earlier: that day passes with the changes.
  const now = new Date(new Date().setUTCHours(0, 0, 0, 0));
  const yesterday = new Date(now.getTime() - day);
  const { people, advertising } = issues < 1000 ? small : medium;
  const tracker = await startTracker({ seed, issues, now, ...people });
  const ads = await startAds({ seed, now: yesterday, ...advertising });
  // Dagu's own API lists weeks of runs; the API of the contract lists only current ones.
  const workflow = await startWorkflow({ now: yesterday, dialect: 'dagu-v2' });
  const keys = keysOf(tracker);
  nameAfterIssues([...ads.state.campaigns.values()], keys);
  const jobs = inhabit(workflow, { seed, issues: keys, campaigns: [...ads.state.campaigns.keys()] });
  return {
    urls: [
      ['tracker', tracker.url],
      ['ads', ads.url],
      ['workflow', workflow.url],
    ],
    environment: environmentOf(
      { tracker, ads, workflow },
      new Date(yesterday.getTime() - advertising.days * day),
    ),
    change: () => [...changeTracker(tracker), ...changeAds(ads), ...changeWorkflow(workflow, jobs)],
    facts: (pool, first, changes) =>
      askFacts(pool, first, changes, {
        tracker: tracker.tally(),
        ads: ads.state,
        workflow: workflow.truth(),
      }),
    close: () => Promise.all([workflow.close(), ads.close(), tracker.close()]),
  };
}

type Started<T extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<T>>;

/** The three sources of a company. */
interface Sources {
  readonly tracker: TrackerSimulator;
  readonly ads: Started<typeof startAds>;
  readonly workflow: Started<typeof startWorkflow>;
}

/** The variables that configure pipelines of these sources. `adsFrom`: the first day of the history of ads. */
export const environmentOf = ({ tracker, ads, workflow }: Sources, adsFrom: Date) => ({
  TRACKER_BASE_URL: tracker.url,
  TRACKER_EMAIL: tracker.email,
  TRACKER_API_TOKEN: tracker.token,
  ADS_BASE_URL: ads.url,
  ADS_ACCESS_TOKEN: ads.tokens.token,
  ADS_ACCOUNT_IDS: [...ads.state.accounts.keys()].join(','),
  ADS_REPORT_HOSTS: new URL(ads.storage.origin).host,
  // The platform has no other users, so the rate needs no limit.
  ADS_REQUESTS_PER_SECOND: '0',
  ADS_REPORT_REQUESTS_PER_SECOND: '0',
  ADS_START: adsFrom.toISOString().slice(0, 10),
  WORKFLOW_BASE_URL: workflow.url,
});
