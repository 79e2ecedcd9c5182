import { BadData } from '../../core/errors.ts';
import type { Page, Reading } from '../../core/paging.ts';
import { parsedOf, type RawRecord, type Shape } from '../../core/raw-record.ts';
import type { Json } from '../../core/request.ts';
import type { Flow, Mapped, Slice } from '../../core/stream.ts';
import { isListing, type Reject } from '../../load/batch.ts';
import { layoutOf } from '../../load/layout.ts';
import { type RawEncoder, rawEncoder } from '../../load/raw.ts';

/** A record after the transform: rows, or the reason why not. */
export type Outcome =
  | { readonly mapped: Mapped; readonly record: Json }
  | { readonly bad: BadData; readonly record: Json };

/** Runs the transform; a record that cannot become rows is an outcome, every other error is a defect and is thrown. */
export function mapRecord(flow: Flow, record: Json, slice: Slice): Outcome {
  try {
    return { mapped: flow.via(parsedOf(record), slice), record };
  } catch (bad) {
    if (bad instanceof BadData) return { bad, record };
    throw bad;
  }
}

/**
 * The encoders of records that came as bytes, by their shape: undefined where records of the shape go by way of `via`. A flow with children, of
 * entities or of rows that are not replaced as a whole has none.
 */
export function rawEncoders(flow: Flow, slice: Slice): (record: RawRecord) => RawEncoder | undefined {
  const { cells, table } = flow;
  if (cells === undefined || !isListing(flow)) return () => undefined;
  const known = new Map<Shape, RawEncoder | undefined>();
  return ({ shape }) => {
    if (!known.has(shape)) {
      const declared = cells(shape, slice);
      known.set(shape, declared && rawEncoder(layoutOf(table), declared, shape.notation));
    }
    return known.get(shape);
  };
}

/** The reject of a record, with its bytes exactly as they stood in the page. */
export function rejectOf(
  flow: Flow,
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

const keyIn = (flow: Flow, record: Json, slice: Slice): Reject['row'] => {
  try {
    return flow.keyOf?.(parsedOf(record), slice);
  } catch (bad) {
    if (bad instanceof BadData) return undefined;
    throw bad;
  }
};
