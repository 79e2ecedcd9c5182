import type { Body } from '../shared/http.ts';
import type { IssueWriter, Projection } from './issue-json.ts';
import type { Hit } from './search.ts';
import type { TrackerState } from './state.ts';

/** The bytes of issues, kept per version and projection: serving a page is pointing at what is there. */
export interface Fragments {
  /** The issues as the bytes of a JSON array. */
  list(hits: readonly Hit[], projection: Projection): Body;
}

const SLAB = 4 * 1024 * 1024;
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
const COMMA = Buffer.from(',');

/** The issue stands at `start` to `end` of the slab, and a comma behind it: issues in a row are one run of bytes. */
interface Kept {
  readonly slab: Buffer;
  readonly start: number;
  readonly end: number;
  readonly version: number;
  /** The state of the site's names when it was written. */
  readonly facts: number;
}

/** Keeps up to `budget` bytes; beyond that everything is forgotten and made again on demand. */
export const createFragments = (state: TrackerState, writer: IssueWriter, budget: number): Fragments => {
  let slab = Buffer.alloc(0);
  let used = 0;
  let held = 0;
  const byProjection = new Map<string, (Kept | undefined)[]>();

  const keep = (json: string | Buffer): { slab: Buffer; start: number; end: number } => {
    // A UTF-16 unit takes at most three bytes.
    const room = (typeof json === 'string' ? json.length * 3 : json.length) + 1;
    if (used + room > slab.length) {
      slab = Buffer.allocUnsafeSlow(Math.max(SLAB, room));
      used = 0;
      held += slab.length;
    }
    const start = used;
    const end = start + (typeof json === 'string' ? slab.write(json, start, 'utf8') : json.copy(slab, start));
    COMMA.copy(slab, end);
    used = end + 1;
    return { slab, start, end };
  };

  const fragment = (list: (Kept | undefined)[], hit: Hit, projection: Projection): Kept => {
    const version = state.store.version(hit.position);
    if (hit.stale !== undefined)
      return { ...keep(writer.write(hit.stale, projection)), version, facts: state.facts };
    const known = list[hit.position];
    if (known !== undefined && known.version === version && known.facts === state.facts) return known;
    const made = {
      ...keep(writer.write(state.store.at(hit.position), projection)),
      version,
      facts: state.facts,
    };
    list[hit.position] = made;
    return made;
  };

  return {
    list: (hits, projection) => {
      if (held > budget) {
        byProjection.clear();
        slab = Buffer.alloc(0);
        used = 0;
        held = 0;
      }
      const name = `${projection.agile}:${projection.changelog}:${projection.sparse}:${projection.fields.join(',')}`;
      let list = byProjection.get(name);
      if (list === undefined) {
        list = [];
        byProjection.set(name, list);
      }
      const body: Buffer[] = [OPEN];
      let run: { slab: Buffer; start: number; end: number } | undefined;
      for (const hit of hits) {
        const next = fragment(list, hit, projection);
        if (run?.slab === next.slab && run.end + 1 === next.start) {
          run.end = next.end;
          continue;
        }
        if (run !== undefined) body.push(run.slab.subarray(run.start, run.end), COMMA);
        run = { slab: next.slab, start: next.start, end: next.end };
      }
      if (run !== undefined) body.push(run.slab.subarray(run.start, run.end));
      body.push(CLOSE);
      return body;
    },
  };
};
