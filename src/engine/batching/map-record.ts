import { BadData } from '../../core/errors.ts';
import type { Page, Reading } from '../../core/paging.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped, Slice, Stream } from '../../core/stream.ts';
import type { Reject } from '../../load/batch.ts';

/** A record after the transform: rows, or the reason why not. */
export type Outcome =
  | { readonly mapped: Mapped; readonly record: Json }
  | { readonly bad: BadData; readonly record: Json };

/** Runs the transform; a record that cannot become rows is an outcome, every other error is a defect and is thrown. */
export function mapRecord(flow: Stream, record: Json, slice: Slice): Outcome {
  try {
    return { mapped: flow.transform(record, slice), record };
  } catch (bad) {
    if (bad instanceof BadData) return { bad, record };
    throw bad;
  }
}

/** The reject of a record, with its bytes exactly as they stood in the page. */
export function rejectOf(
  flow: Stream,
  bad: BadData,
  record: Json,
  stage: Reject['stage'],
  from: { readonly page: Page; readonly reading: Reading; readonly slice: Slice },
): Reject {
  return {
    key: from.reading.id(record),
    payload: from.reading.bytes(record, from.page),
    stage,
    code: bad.code,
    field: bad.field,
    message: bad.message,
    slice: from.slice,
    row: keyIn(flow, record, from.slice),
  };
}

const keyIn = (flow: Stream, record: Json, slice: Slice): Reject['row'] => {
  try {
    return flow.keyOf?.(record, slice);
  } catch (bad) {
    if (bad instanceof BadData) return undefined;
    throw bad;
  }
};
