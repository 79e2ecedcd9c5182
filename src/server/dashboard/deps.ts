import type { Kysely } from 'kysely';
import type { Control } from '../../scheduler/control.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import type { Tokens } from '../api/tokens.ts';
import type { View } from './layout.ts';

/** What the dashboard is built from. */
export interface DashboardDeps {
  /** The only way in which it changes anything. */
  readonly control: Control;
  /** The warehouse: for reading, and for the audit. */
  readonly db: Kysely<AnyDatabase>;
  /** With which people sign in; none: this machine only, without signing in. */
  readonly tokens: Tokens;
  readonly now: () => Date;
  readonly version: string;
  /** Reports our own errors and wrong tokens to the operator. Never gets a token. */
  readonly trouble: (what: string, error?: unknown) => void;
}

/** A request for a page, with everything that makes the page. */
export interface PageRequest extends DashboardDeps {
  readonly view: View;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly all: (name: string) => readonly string[];
  readonly param: (name: string) => string;
  /** Aborts when the reader leaves. */
  readonly signal: AbortSignal;
}
