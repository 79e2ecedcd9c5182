import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import type { Config } from '../../config/config.ts';
import type { Control } from '../../scheduler/control.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import type { Tokens } from './tokens.ts';

/** The settings of the process, as far as people may see them. */
export type ReadSettings = Pick<Config, 'shown' | 'pipelines'>;

/** What the server is built from. */
export interface ServerDeps {
  readonly control: Control;
  readonly db: Kysely<AnyDatabase>;
  readonly tokens: Tokens;
  readonly version: string;
  /** What keeps the service from being ready, one sentence each; empty: it is ready. */
  readonly unready: () => Promise<readonly string[]>;
  /** Aborts when the service ends: log streams then end as well. */
  readonly signal: AbortSignal;
  /** Reports our own errors and wrong tokens to the operator. Never gets a token. */
  readonly trouble: (what: string, error?: unknown) => void;
  /** A fastify plugin with the pages at `/`. Its hooks and parsers do not touch the API. */
  readonly pages?: (app: FastifyInstance) => Promise<void>;
  readonly limits?: Partial<Limits>;
}

export const usualLimits = {
  /** Requests of one address in a minute. */
  perMinute: 1200,
  /** A request must have arrived within this time, ms. */
  requestMs: 10_000,
  /** Log streams at the same time. */
  streams: 100,
  /** How often a log stream looks for new lines, ms. */
  followMs: 500,
};

export type Limits = Readonly<typeof usualLimits>;
