import type { Db } from '../../run/history/db.ts';
import type { Control } from '../../schedule/control.ts';

/** What the dashboard is built from. */
export interface DashboardDeps {
  /** The only way in which it changes anything. */
  readonly control: Control;
  /** The warehouse, for reading. */
  readonly db: Db;
  /** The API token, with which people sign in; undefined: this machine only, without signing in. */
  readonly token?: string | undefined;
  readonly now: () => Date;
  readonly version: string;
  /** How often it is looked whether something happened, ms; default a second. */
  readonly pulseMs?: number;
}
