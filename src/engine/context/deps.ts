import type { Observe } from '../../core/run.ts';
import type { Source } from '../../core/stream.ts';
import type { Warehouse } from '../../warehouse/connect.ts';

/** What a run is given by `main.ts`: everything it needs, nothing it could look up by itself. */
export interface RunDeps {
  readonly warehouse: Warehouse;
  readonly source: Source;
  readonly observe: Observe;
  readonly signal: AbortSignal;
  /** How many slices are read at once. */
  readonly concurrency: number;
  /** How long a run may take in all; absent: for ever. */
  readonly deadlineMs?: number;
  /**
   * Streams that are read only where they are named, with what is read owner by owner of them; absent: none.
   */
  readonly exclude?: readonly string[];
  readonly version: string;
  readonly trigger: 'manual' | 'schedule' | 'api';
  /** How far behind the watermark an incremental walk begins. */
  readonly lookbackMs: number;
  /** How far back records are walked again by creation where the server cannot filter by change. */
  readonly createdWindowMs: number;
  /** Where history begins. */
  readonly historyStart: Date;
}
