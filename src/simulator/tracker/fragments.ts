import type { IssueWriter, Projection } from './issueJson.ts';
import type { Hit } from './search.ts';
import type { TrackerState } from './state.ts';

/** The bytes of issues, kept per version and projection: serving a page is joining what is there. */
export interface Fragments {
  /** The issues as the bytes of a JSON array. */
  list(hits: readonly Hit[], projection: Projection): Buffer;
}

const SLAB = 4 * 1024 * 1024;

interface Kept {
  readonly bytes: Buffer;
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

  const keep = (text: string | Buffer): Buffer => {
    if (typeof text !== 'string') return text;
    // A UTF-16 unit takes at most three bytes.
    if (used + text.length * 3 > slab.length) {
      slab = Buffer.allocUnsafeSlow(Math.max(SLAB, text.length * 3));
      used = 0;
      held += slab.length;
    }
    const end = used + slab.write(text, used, 'utf8');
    const bytes = slab.subarray(used, end);
    used = end;
    return bytes;
  };

  const fragment = (list: (Kept | undefined)[], hit: Hit, projection: Projection): Buffer => {
    if (hit.stale !== undefined) {
      const text = writer.write(hit.stale, projection);
      return typeof text === 'string' ? Buffer.from(text) : text;
    }
    const version = state.store.version(hit.place);
    const known = list[hit.place];
    if (known !== undefined && known.version === version && known.facts === state.facts) return known.bytes;
    const bytes = keep(writer.write(state.store.at(hit.place), projection));
    list[hit.place] = { bytes, version, facts: state.facts };
    return bytes;
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
      const parts: Buffer[] = [];
      let size = 2;
      for (const hit of hits) {
        const bytes = fragment(list, hit, projection);
        parts.push(bytes);
        size += bytes.length + 1;
      }
      const out = Buffer.allocUnsafe(size);
      out[0] = 0x5b;
      let at = 1;
      for (const bytes of parts) {
        if (at > 1) {
          out[at] = 0x2c;
          at += 1;
        }
        at += bytes.copy(out, at);
      }
      out[at] = 0x5d;
      return out.subarray(0, at + 1);
    },
  };
};
