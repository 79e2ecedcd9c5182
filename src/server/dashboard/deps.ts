import type { Kysely } from 'kysely';
import type { Control } from '../../scheduler/control.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';

/** What the dashboard is built from. */
export interface DashboardDeps {
  /** The only way in which it changes anything. */
  readonly control: Control;
  /** The warehouse, for reading, and for the audit. */
  readonly db: Kysely<AnyDatabase>;
  /** The API token, with which people sign in; undefined: this machine only, without signing in. */
  readonly token?: string | undefined;
  /** A read-only token. */
  readonly readToken?: string | undefined;
  readonly now: () => Date;
  readonly version: string;
  /** Told of errors of ours and of wrong tokens. Never given a token. */
  readonly trouble: (what: string, error?: unknown) => void;
  /** How often it is looked whether something happened, ms; default a second. */
  readonly pulseMs?: number;
}
