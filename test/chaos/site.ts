/** A source of a campaign, whatever kind it is. */

import type { Script } from '../../simulators/shared/script.ts';
import { faults } from '../model/faults.ts';
import { proxy, type Wire } from '../support/proxy.ts';
import type { Rig } from '../support/rig.ts';
import type { Draw } from './seed.ts';

export interface Site {
  /** Also of its pipeline. */
  readonly name: string;
  /** The function of a pipeline file that reads its variables. */
  readonly connector: 'jira' | 'spotifyAds' | 'dagu';
  /** Streams that are left out, so that a round of all pipelines is shorter than a minute. */
  readonly exclude: readonly string[];
  /** Environment variables by their names without the pipeline's. */
  readonly variables: Readonly<Record<string, string>>;
  /** What may be asked of its pipeline, as `params` of the API; undefined: a sync. */
  readonly asks: readonly [string | undefined, ...(string | undefined)[]];
  readonly script: Pick<Script<unknown>, 'at' | 'fired' | 'clear'>;
  /** Errors of the simulator itself: there should be none. */
  readonly errors: readonly unknown[];
  /** Of a source that misbehaves: what lies between it and the processes. */
  readonly wire: Wire | undefined;
  /** Something happens at the source. */
  change(draw: Draw): void;
  /** All that happened is shown from now on, and nothing goes wrong by itself. */
  calm(): void;
  /** Deletes a record, which only a reconcile finds out. What it gives has a line if the warehouse has not marked it. Undefined: it has no such record. */
  readonly remove?: () => Difference;
  /** For after a night and a reconcile. */
  readonly equal: Difference;
  /** For after a full sync besides. */
  readonly equalAfterFull?: Difference;
  close(): Promise<void>;
}

/** One line for each difference between the warehouse and the source. */
export type Difference = (rows: Rig['rows']) => Promise<readonly string[]>;

/** Where a site is, and whether it misbehaves: `draw` decides which of its answers are faults. */
export interface Place {
  readonly name: string;
  /** Different for each site. */
  readonly seed: number;
  readonly bad?: { readonly draw: Draw };
}

/** What lies between a source at this address and the processes. */
export async function wireTo(url: string): Promise<{ readonly wire: Wire; readonly url: string }> {
  const at = new URL(url);
  const wire = await proxy({ host: at.hostname, port: Number(at.port) });
  at.port = String(wire.port);
  return { wire, url: at.href.replace(/\/$/, '') };
}

/** A request in this many meets each of the faults, at a source that misbehaves. */
const seldom = 1 / 250;

/** The source answers some requests with a fault: the tenth, and others now and then. `except`: names of faults that it does not have. */
export function misbehave(
  { script }: Pick<Site, 'script'>,
  draw: Draw,
  except: readonly string[] = [],
): void {
  script.at({ nth: 10 }, faults[500][0]);
  for (const [name, [fault]] of Object.entries(faults))
    if (!except.includes(name))
      script.at({ times: Number.POSITIVE_INFINITY, match: () => draw.chance(seldom) }, fault);
}
