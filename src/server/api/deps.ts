import type { FastifyInstance } from 'fastify';
import type { Kysely } from 'kysely';
import type { Control } from '../../scheduler/control.ts';
import type { Catalogue } from '../../scheduler/pipelines.ts';
import type { AnyDatabase } from '../../warehouse/connect.ts';
import type { Tokens } from './tokens.ts';

/** What the server is built from. */
export interface ServerDeps {
  readonly control: Control;
  readonly catalogue: Catalogue;
  readonly db: Kysely<AnyDatabase>;
  readonly tokens: Tokens;
  readonly version: string;
  /** What keeps the service from being ready, one sentence each; empty: it is. */
  readonly unready: () => Promise<readonly string[]>;
  /** Aborts when the service is ending: streams then end by themselves. */
  readonly signal: AbortSignal;
  /** Told of errors of ours and of wrong tokens. Never given a token. */
  readonly trouble: (what: string, error?: unknown) => void;
  /** The pages at `/`, if there are any: a fastify plugin that keeps its hooks and parsers to itself. */
  readonly pages?: (app: FastifyInstance) => Promise<void>;
  readonly limits?: Partial<Limits>;
}

export interface Limits {
  /** Requests of one address in a minute. */
  readonly perMinute: number;
  /** A request must have arrived within so many ms. */
  readonly requestMs: number;
  /** Log streams at once. */
  readonly streams: number;
  /** A log stream looks for new lines so often, ms. */
  readonly followMs: number;
}

export const usualLimits: Limits = { perMinute: 1200, requestMs: 10_000, streams: 100, followMs: 500 };
