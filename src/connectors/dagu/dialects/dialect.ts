/**
 * What an engine can be asked, whatever it speaks. Streams, tables and hand-offs know one world, that of Dagu 2: a
 * dialect turns our questions into the engine's requests, and its answers into Dagu's records.
 */

import type { Engine } from '../../../core/dag-engine.ts';
import type { Json, Page, WalkEnd } from '../../../core/stream.ts';
import type { DagRunRecord } from '../transform.ts';

/** When runs were made: whole seconds since 1970 UTC, `from <= made < to` (measured on 1.30.2; 0 would mean today). */
export type Span = { readonly from: number; readonly to: number };

/** The records of one answer in Dagu's form `{dags, errors}`. */
type ListReader = (body: Json) => readonly Json[];

/**
 * Its methods throw `UnexpectedContent` for an answer that is not the dialect's, and what `Http` throws. DAGs are started and their
 * state is asked for by the names of their files, as hand-offs do.
 */
export interface DaguDialect extends Pick<Engine, 'start' | 'status'> {
  /** In words, for `check`. */
  readonly about: string;
  /** Whether a start can carry the id of its run. */
  readonly takesRunId: boolean;
  /** Pages of the DAGs. `isWhole`: that `list` keeps as many as the engine says. */
  dags(list: ListReader, isWhole: boolean, signal: AbortSignal): AsyncGenerator<Page, WalkEnd, void>;
  /** The runs that it shows, the newest first; mostly summaries, without steps. */
  history(span: Span, signal: AbortSignal): AsyncGenerator<readonly DagRunRecord[], void, void>;
  /** One run with its steps; undefined where the engine does not know it, or shows no single one. `dag`: its name, not its file. */
  run(dag: string, id: string, signal: AbortSignal): Promise<DagRunRecord | undefined>;
}
