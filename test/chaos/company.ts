/** The sources of a campaign: trackers that change all the time, two of which misbehave. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startTracker, type TrackerSimulator } from '../../simulators/jira/server.ts';
import { silence } from '../../simulators/shared/faults.ts';
import { faults } from '../model/faults.ts';
import type { Change } from '../model/steps.ts';
import { type World, worldOf } from '../model/world.ts';
import { until } from '../support/processes.ts';
import { proxy, type Wire } from '../support/proxy.ts';
import { type Draw, drawOf } from './seed.ts';

export interface Site {
  readonly name: string;
  readonly tracker: TrackerSimulator;
  readonly world: World;
  /** Of a source that misbehaves: what lies between it and the processes. */
  readonly wire: Wire | undefined;
}

/** A request in this many meets each of the faults, at a source that misbehaves. */
const seldom = 1 / 250;

/** `count` trackers; the first `bad` of them misbehave. */
export async function companyOf(seed: number, count: number, bad: number) {
  const sites: Site[] = [];
  for (let n = 0; n < count; n += 1) sites.push(await siteOf(seed, n, n < bad));
  const draw = drawOf(seed, 2);
  return {
    sites,
    bad: sites.slice(0, bad),
    good: sites.slice(bad),
    /** Something changes at one of the sources. */
    change: () => change(draw, sites[draw.between(0, count - 1)]),
    env: (): NodeJS.ProcessEnv => Object.fromEntries(sites.flatMap(variablesOf)),
    async close() {
      for (const { tracker, wire } of sites) {
        await wire?.close();
        await tracker.close();
      }
    },
  };
}

export type Company = Awaited<ReturnType<typeof companyOf>>;

async function siteOf(seed: number, n: number, isBad: boolean): Promise<Site> {
  const tracker = await startTracker({
    seed: n + 1,
    issues: 25,
    projects: 2,
    users: 6,
    years: 0.1,
    now: new Date('2026-03-10T09:00:00Z'),
    dialect: n % 2 === 0 ? 'vendor' : 'contract',
    latencyMs: isBad ? 40 : 2,
  });
  const name = `s${String(n + 1).padStart(2, '0')}`;
  if (isBad) misbehave(tracker, drawOf(seed, 100 + n));
  const wire = isBad
    ? await proxy({ host: '127.0.0.1', port: Number(new URL(tracker.url).port) })
    : undefined;
  return { name, tracker, world: worldOf(tracker), wire };
}

function misbehave({ script }: TrackerSimulator, draw: Draw): void {
  script.at({ nth: 10 }, faults[500][0]);
  for (const [fault] of Object.values(faults))
    script.at({ times: Number.POSITIVE_INFINITY, match: () => draw.chance(seldom) }, fault);
}

const variablesOf = ({ name, tracker, wire }: Site): readonly (readonly [string, string])[] => {
  const of = name.toUpperCase();
  return [
    [`${of}_BASE_URL`, wire === undefined ? tracker.url : `http://127.0.0.1:${wire.port}`],
    [`${of}_EMAIL`, tracker.email],
    [`${of}_API_TOKEN`, tracker.token],
    [`${of}_CONCURRENCY`, '2'],
  ];
};

function change(draw: Draw, site: Site | undefined): void {
  if (site === undefined) return;
  const issue = draw.between(0, 60);
  const other = draw.between(0, 60);
  const project = draw.between(0, 1);
  site.tracker.clock.advance(1_000);
  site.world.change(
    draw.oneOf<Change>([
      { is: 'create', project },
      { is: 'edit', issue },
      { is: 'label', issue },
      { is: 'comment', issue },
      { is: 'drop comment', issue },
      { is: 'worklog', issue },
      { is: 'sprint', issue, sprint: other },
      { is: 'link', issue, other },
      { is: 'move', issue, project },
      { is: 'delete', issue },
    ]),
  );
}

/** Breaks the connections of a source. */
export async function cutSource({ wire }: Site): Promise<void> {
  await until('a connection to the source', () => (wire?.open ?? 0) > 0);
  wire?.cut();
}

/** The connections of a source say nothing for so long, and then break. */
export async function silenceSource({ wire }: Site, ms: number): Promise<void> {
  await until('a connection to the source', () => (wire?.open ?? 0) > 0);
  wire?.freeze();
  await sleep(ms);
  wire?.drop();
  wire?.thaw();
}

/** The source answers no request until the function that this gives is called. */
export function mute({ tracker, wire }: Site): { readonly asked: () => number; readonly lift: () => void } {
  const rule = tracker.script.at({ times: Number.POSITIVE_INFINITY }, silence);
  return {
    asked: () => rule.fired,
    lift: () => {
      rule.cancel();
      wire?.cut();
    },
  };
}
