/** How each pipeline is now, by its newest runs. */
import { type Db, query } from './db.ts';

type StateTexts = 'runId' | 'status' | 'errorCode' | 'errorMessage';
type StateInstants =
  | 'tokenEndsAt'
  | 'startedAt'
  | 'answeredAt'
  | 'failingSince'
  | 'pausedUntil'
  | 'dueAt'
  | 'freshAt';
type StateNumbers = 'requests' | 'throttled' | 'usualSeconds' | 'overSeconds';

/** A run that left something undone. `what` it was of, where that is not every stream; `streams`: those that it did not read to their end. */
interface UndoneRun extends Readonly<Record<'runId' | 'what' | 'status', string>> {
  readonly message: string | null;
  readonly streams: readonly string[];
}

/** A pipeline that ever ran; the columns are explained in `ops.pipeline_states`. */
export interface PipelineState
  extends Readonly<Record<StateTexts, string | null>>,
    Readonly<Record<StateInstants, Date | null>>,
    Readonly<Record<StateNumbers, number | null>>,
    Readonly<Record<'staleStreams' | 'forbiddenStreams', readonly string[]>> {
  readonly pipeline: string;
  readonly undone: readonly UndoneRun[];
  readonly openRejects: number;
}

export const pipelineStates = (db: Db) =>
  query(db)<PipelineState>`select * from ops.pipeline_states order by pipeline`;
