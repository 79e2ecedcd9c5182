/** How a command ends: the one place where errors and reports become exit codes and sentences. */
import { CommanderError } from 'commander';
import {
  AuthFailed,
  Interrupted,
  LockHeld,
  Misconfigured,
  TidemarkError,
  Unreachable,
} from '../core/errors.ts';
import type { RunReport } from '../core/run.ts';
import { escaped, withoutSecrets } from './text.ts';

/** The promised codes; scripts build on them. */
export const exit = {
  ok: 0,
  failed: 1,
  usage: 2,
  partly: 3,
  connection: 4,
  locked: 5,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** Words of `error.code` (in reports and in `ops.runs`) that have an exit code of their own. */
const byWord: Readonly<Record<string, number>> = {
  misconfigured: exit.usage,
  unreachable: exit.connection,
  auth: exit.connection,
  lock_held: exit.locked,
  interrupted: exit.SIGINT,
};

/** Codes of Node and Postgres that mean "not reached" or "not let in", for errors nobody wrapped. */
const connecting =
  /^(ECONN|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|08|28|3D000|57P03)/;

/** The exit code for whatever a command threw. `signal`: the one that was received, if any. */
export function codeOfError(error: unknown, signal?: 'SIGINT' | 'SIGTERM'): number {
  if (error instanceof Interrupted || isAbort(error))
    return signal === undefined ? exit.SIGINT : exit[signal];
  if (error instanceof CommanderError) return error.exitCode === 0 ? exit.ok : exit.usage;
  if (error instanceof Misconfigured) return exit.usage;
  if (error instanceof AuthFailed || error instanceof Unreachable) return exit.connection;
  if (error instanceof LockHeld) return exit.locked;
  if (!(error instanceof TidemarkError) && connecting.test(systemCode(error))) return exit.connection;
  return exit.failed;
}

/** One code for several: theirs if they agree, 3 if some succeeded, else 1. */
export function combined(codes: readonly number[]): number {
  const [first = exit.ok, ...others] = codes;
  if (others.every((code) => code === first)) return first;
  return codes.some((code) => code === exit.ok || code === exit.partly) ? exit.partly : exit.failed;
}

/** As `combined`, of a command that had so much to do: one that was stopped before the last of it, or in it, ends as stopped. */
export function codeOfAll(codes: readonly number[], asked: number, stop?: 'SIGINT' | 'SIGTERM'): number {
  const stopped = codes.find((code) => code === exit.SIGINT || code === exit.SIGTERM);
  return stopped ?? (codes.length < asked && stop !== undefined ? exit[stop] : combined(codes));
}

/** The exit code for how a run ended. */
export function codeOfReport(report: RunReport, signal?: 'SIGINT' | 'SIGTERM'): number {
  switch (report.status) {
    case 'succeeded':
      return exit.ok;
    case 'partly_failed':
    case 'needs_attention':
      return exit.partly;
    case 'interrupted':
      return signal === undefined ? exit.SIGINT : exit[signal];
    default:
      return byWord[report.error?.code ?? ''] ?? exit.failed;
  }
}

/** An error as `--json` shows it. */
export interface Said {
  readonly code: string;
  readonly message: string;
}

/** The error in words: what, which, value. Never credentials, never control characters of a source. */
export function said(error: unknown): Said {
  const message = clean(
    error instanceof Error ? error.message || systemCode(error) || error.name : String(error),
  );
  if (error instanceof TidemarkError) return { code: error.code, message };
  if (error instanceof CommanderError) return { code: 'usage', message: clean(wordsOf(error)) };
  return { code: isAbort(error) ? 'interrupted' : 'internal', message };
}

/** Where a command is missing commander shows the help, and its own word for that is no message. */
const wordsOf = ({ code, message }: CommanderError): string =>
  code === 'commander.help'
    ? 'no command is named, or none that there is: see tidemark --help'
    : withoutValues(message);

/**
 * What commander says of words it does not understand, without the value of an unknown flag and without the words that are too many: they may
 * be a secret, and secrets are never on the command line.
 */
export const withoutValues = (text: string): string =>
  withoutSecrets(text)
    .replace(/(unknown option '--?[^'=\s]+)=[\s\S]*'/, "$1'")
    .replace(/(too many arguments.* but got \d+): [\s\S]*$/, '$1.');

/** The chain of causes, one line each, and at its end where it was thrown: what `--verbose` adds. */
export function causes(error: unknown): readonly string[] {
  const lines: string[] = [];
  let deepest = error;
  for (let at = error; at instanceof Error && lines.length < 10; at = at.cause) {
    if (at !== error) lines.push(`because ${at.name}: ${said(at).message}`);
    if (at instanceof AggregateError)
      for (const each of at.errors) lines.push(`because ${said(each).message}`);
    deepest = at;
  }
  const stack =
    deepest instanceof Error ? (deepest.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  return [...lines, ...stack.slice(0, 12).map(clean)];
}

const clean = (text: string): string => withoutSecrets(text).split('\n').map(escaped).join('\n  ');

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

function systemCode(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return systemCode(error.errors[0]);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
