/** The sources of a campaign: they change all the time, and two of them misbehave. */

import { setTimeout as sleep } from 'node:timers/promises';
import { silence } from '../../simulators/shared/faults.ts';
import { adsSite } from './ads-site.ts';
import { drawOf } from './seed.ts';
import type { Site } from './site.ts';
import { trackerSite } from './tracker-site.ts';
import { workflowSite } from './workflow-site.ts';

/** A pipeline each; the first ones misbehave. One source of ads at most: its rows are compared without regard to the source. */
const kinds = [
  trackerSite,
  adsSite,
  workflowSite,
  workflowSite,
  ...Array.from({ length: 8 }, () => trackerSite),
];

export async function companyOf(seed: number, bad: number) {
  const sites: Site[] = [];
  for (const [n, open] of kinds.entries()) {
    const place = { name: `s${String(n + 1).padStart(2, '0')}`, seed: n + 1 };
    sites.push(await open({ ...place, ...(n < bad && { bad: { draw: drawOf(seed, 100 + n) } }) }));
  }
  const draw = drawOf(seed, 2);
  return {
    sites,
    bad: sites.slice(0, bad),
    good: sites.slice(bad),
    /** Something changes at one of the sources. */
    change: () => sites[draw.between(0, sites.length - 1)]?.change(draw),
    env: (): NodeJS.ProcessEnv =>
      Object.fromEntries(
        sites.flatMap(({ name, variables }) =>
          Object.entries(variables).map(([word, value]) => [`${name.toUpperCase()}_${word}`, value]),
        ),
      ),
    close: async () => {
      for (const site of sites) await site.close();
    },
  };
}

export type Company = Awaited<ReturnType<typeof companyOf>>;

/** The connections of a source say nothing for so long, and then break. */
export async function silenceSource({ wire }: Site, ms: number): Promise<void> {
  wire?.freeze();
  await sleep(ms);
  wire?.drop();
  wire?.thaw();
}

/** The source answers no request until the function that this gives is called. */
export function mute({ script, wire }: Site): { readonly asked: () => number; readonly lift: () => void } {
  const rule = script.at({ times: Number.POSITIVE_INFINITY }, silence);
  return {
    asked: () => rule.fired,
    lift: () => {
      rule.cancel();
      wire?.cut();
    },
  };
}
