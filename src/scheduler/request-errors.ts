/** Why an ask was refused. Messages are fit for an answer of the API: no stack, no SQL, no path. */

import { TidemarkError } from '../core/errors.ts';
import type { DagRun } from './control.ts';

/** No pipeline of that name. HTTP 404. */
export class UnknownDag extends TidemarkError {
  readonly code = 'unknown_dag';
}

/** No run of that id under that pipeline. HTTP 404. */
export class UnknownRun extends TidemarkError {
  readonly code = 'unknown_run';
}

/** The pipeline is already queued or running; `active` is that run. HTTP 409. */
export class AlreadyActive extends TidemarkError {
  readonly code = 'already_active';
  readonly active: DagRun;
  constructor(message: string, active: DagRun) {
    super(message);
    this.active = active;
  }
}

/** There is nothing to stop, or the run is in a state that does not allow what was asked. HTTP 409. */
export class NothingActive extends TidemarkError {
  readonly code = 'nothing_active';
}

/** A known run id with another ask than the first time. HTTP 409. */
export class RunIdTaken extends TidemarkError {
  readonly code = 'run_id_taken';
}
