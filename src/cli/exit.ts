/** How a command ends: the only place where errors and reports become exit codes and messages. */
import { CommanderError } from 'commander';
import { clean, describe as described, errorText } from '../core/describe-error.ts';
import { withoutSecrets } from '../core/format.ts';
import type { RunReport } from '../core/run.ts';
import type { Sink, StopSignal } from './context.ts';

/** The promised codes; scripts depend on them. */
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

/** Error codes (`error.code` in `--json` and `ops.runs`) with an exit code other than 1. */
export const exitCodes: Readonly<Record<string, number>> = {
  usage: exit.usage,
  misconfigured: exit.usage,
  lock_held: exit.locked,
  http_409: exit.locked,
  unreachable: exit.connection,
  auth: exit.connection,
  http_502: exit.connection,
  http_503: exit.connection,
  http_504: exit.connection,
};

const exitCodeOf = (code: string, signal: StopSignal = 'SIGINT'): number =>
  code === 'interrupted' ? exit[signal] : (exitCodes[code] ?? exit.failed);

/** The exit code for whatever a command threw. `signal`: the one that was received, if any. */
export const codeOfError = (error: unknown, signal?: StopSignal): number =>
  error instanceof CommanderError && error.exitCode === 0
    ? exit.ok
    : exitCodeOf(describe(error).code, signal);

/** The exit code for how a run ended. */
export function codeOfReport({ status, error }: RunReport, signal?: StopSignal): number {
  if (status === 'succeeded') return exit.ok;
  if (status === 'partly_failed' || status === 'needs_attention') return exit.partly;
  return exitCodeOf(status === 'interrupted' ? status : (error?.code ?? 'failed'), signal);
}

/** One code for several: theirs if they agree, 3 if some succeeded, else 1. `signal`: it stopped the command before its end. */
export function combined(codes: readonly number[], signal?: StopSignal): number {
  const stopped = codes.find((code) => code === exit.SIGINT || code === exit.SIGTERM);
  if (stopped !== undefined || signal !== undefined) return stopped ?? exit[signal ?? 'SIGINT'];
  const [first = exit.ok] = codes;
  if (codes.every((code) => code === first)) return first;
  return codes.some((code) => code === exit.ok || code === exit.partly) ? exit.partly : exit.failed;
}

/** An error as `--json` shows it, also one of commander. */
export const describe = (error: unknown): { readonly code: string; readonly message: string } =>
  error instanceof CommanderError ? { code: 'usage', message: clean(usageText(error)) } : described(error);

/** Without a verb commander prints the help; its own message for that says nothing. */
const usageText = ({ code, message }: CommanderError): string =>
  code === 'commander.help' ? 'there is no such command: see tidemark --help' : withoutValues(message);

/** A message of commander without values that may be secrets: of an unknown option, and of surplus arguments. */
const withoutValues = (text: string): string =>
  withoutSecrets(text)
    .replace(/(unknown option '--?[^'=\s]+)=[\s\S]*'/, "$1'")
    .replace(/(too many arguments.* but got \d+): [\s\S]*$/, '$1.');

/** What commander prints of an error, in the form of all others. */
export const usageError = (text: string): string =>
  errorText(
    'usage',
    withoutValues(text)
      .trim()
      .replace(/\n\((Did you mean .*)\)$/, ' · $1'),
  );

/** The chain of causes, one line each, then where the deepest was thrown: what `--verbose` adds. */
export function causes(error: unknown, depth = 10): readonly string[] {
  if (!(error instanceof Error)) return [];
  const inner =
    error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  if (inner.length > 0 && depth > 0)
    return inner.flatMap((each) => [`because ${describe(each).message}`, ...causes(each, depth - 1)]);
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return stack.slice(0, 12).map(clean);
}

/** Where a command prints its errors. */
type Printing = { readonly json?: boolean; readonly verbose?: boolean } & Record<'out' | 'err', Sink>;

type Described = ReturnType<typeof describe>;

/** Prints what is wrong and what to do, after the name of the pipeline; with `--verbose` also the causes of the error. */
export function complain({ err, verbose }: Printing, error: unknown, said: Described, pipeline = ''): void {
  const { code, message } = said;
  const isNamed = pipeline === '' || message.startsWith(`${pipeline}:`) || message.startsWith(`${pipeline}.`);
  const named = isNamed ? message : `${pipeline}: ${message}`;
  err.line(`${err.paint('red', 'error')}: ${errorText(code, named)}`);
  if (verbose) for (const line of causes(error)) err.line(`  ${line}`);
}

/** Prints an error, with `--json` also as an event; returns its exit code. Commander has already printed its own errors. */
export function report(error: unknown, printing: Printing, signal?: StopSignal, pipeline?: string): number {
  const shown = describe(error);
  const exitCode = codeOfError(error, signal);
  if (!(error instanceof CommanderError)) complain(printing, error, shown, pipeline);
  if (printing.json && exitCode !== exit.ok)
    printing.out.line(JSON.stringify({ type: 'error', pipeline, error: shown, exitCode }));
  return exitCode;
}
