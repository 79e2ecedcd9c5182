/** A small company of three sources, night by night: what runs cost is estimated and compared against it. */
import { inhabit } from '../dagu/company.ts';
import { startWorkflow } from '../dagu/server.ts';
import { startTracker } from '../jira/server.ts';
import { startAds } from '../spotify-ads/server.ts';
import { changeAds } from './ads-changes.ts';
import { environmentOf } from './company.ts';
import { changeTracker } from './tracker-changes.ts';

const hour = 3_600_000;

/** `environment` configures its three pipelines; `day` lets a day pass at all of them. The history of ads is ten days long when it begins. */
export async function startNights() {
  const now = new Date(new Date().setUTCHours(0, 0, 0, 0) - 24 * hour * 5);
  const tracker = await startTracker({ seed: 7, issues: 120, projects: 3, users: 30, years: 1, now });
  const small = {
    accounts: 2,
    campaigns: 2,
    adSetsPerCampaign: 1,
    adsPerAdSet: 2,
    days: 10,
    csv: { polls: 0 },
  };
  const ads = await startAds({ seed: 7, now, ...small });
  const workflow = await startWorkflow({ now, dialect: 'dagu-v2' });
  const issues = tracker.state.store.byKey.slice(0, 20).map((at) => tracker.state.store.keyOf(at));
  const jobs = inhabit(workflow, { seed: 7, issues, campaigns: [...ads.state.campaigns.keys()] });
  return {
    environment: environmentOf({ tracker, ads, workflow }, new Date(now.getTime() - 24 * hour * 10)),
    day() {
      changeTracker(tracker);
      tracker.clock.advance(23 * hour);
      changeAds(ads);
      workflow.clock.advance(24 * hour);
      jobs.live();
    },
    close: () => Promise.all([tracker.close(), ads.close(), workflow.close()]),
  };
}
