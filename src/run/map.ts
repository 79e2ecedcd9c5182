import { BadData } from '../core/errors.ts';
import { elementSlice, parseJson } from '../core/json.ts';
import type { Page, PageWalk } from '../core/paging.ts';
import type { Json } from '../core/request.ts';
import type { Flow, Mapped, Slice } from '../core/stream.ts';
import type { Reject } from '../load/batch.ts';

/** A record after the transform: rows, or the reason why not. */
export type Outcome =
  | { readonly mapped: Mapped; readonly record: Json }
  | { readonly bad: BadData; readonly record: Json };

/** Runs the transform; a record that cannot become rows is an outcome, every other error is a defect and is thrown. */
export function mapRecord(flow: Flow, record: Json, slice: Slice): Outcome {
  try {
    return { mapped: flow.via(record, slice), record };
  } catch (bad) {
    if (bad instanceof BadData) return { bad, record };
    throw bad;
  }
}

/** The reject of a record, with its bytes exactly as they stood in the page. */
export function rejectOf(
  bad: BadData,
  record: Json,
  stage: Reject['stage'],
  from: { readonly page: Page; readonly walk: PageWalk; readonly slice: Slice },
): Reject {
  return {
    key: from.walk.id(record),
    payload: sourceBytes(record, from.page, from.walk),
    stage,
    code: bad.code,
    field: bad.field,
    message: bad.message,
    slice: from.slice,
  };
}

/** Finds a record again in the bytes of its page. Slow, and only done for rejects. */
function sourceBytes(record: Json, page: Page, walk: PageWalk): Buffer {
  const body = parseJson(page.raw);
  const list = walk.list(body);
  const id = walk.id(record);
  const same = list.flatMap((other, index) => (walk.id(other) === id ? [index] : []));
  const index = same.length === 1 ? (same[0] ?? -1) : list.findIndex((other) => alike(other, record));
  const path = Array.isArray(body) ? [] : [keyHolding(body, list)];
  const bytes = index < 0 ? undefined : elementSlice(page.raw, path, index);
  return bytes ?? page.raw;
}

function alike(a: Json, b: Json): boolean {
  try {
    return JSON.stringify(a) === JSON.stringify(b);
  } catch {
    // Too deep to compare (RangeError): then it is not found by likeness, and the page's bytes are kept instead.
    return false;
  }
}

function keyHolding(body: Json, list: readonly Json[]): string {
  for (const [key, value] of Object.entries(body ?? {})) if (value === list) return key;
  return '';
}
