/** The verbs of the command line as data. Each is loaded when it is called, so that `--help` stays fast. */
import { InvalidArgumentError, Option } from 'commander';
import type { Verb } from './context.ts';

export interface VerbSpec {
  /** Its name and arguments, as commander reads them. A verb of two words belongs to a group. */
  readonly call: string;
  /** The verb gets arguments and flags by their names. */
  readonly load: () => Promise<Verb<never>>;
  readonly about: string;
  /** Names of its flags in `flags`, with blanks between them. */
  readonly flags: string;
  /** A command line with a comment. */
  readonly example: string;
}

/** Where the call itself says too little. */
const examples: Readonly<Record<string, string>> = {
  sync: 'tidemark sync tracker --full --dry-run  # what would a full read cost?',
  backfill: 'tidemark backfill tracker --from 2024-01-01 --to 2024-02-01  # what was created in January 2024',
  reset: 'tidemark reset issues && tidemark sync  # read all issues again',
  why: 'tidemark why issues PROJ-7',
  simulate: 'tidemark simulate --dialect vendor  # prints what to put into .env',
  serve: 'TIDEMARK_API_TOKEN_FILE=token tidemark serve --host 0.0.0.0  # also for other machines',
  remote: 'tidemark remote start tracker --params "FROM=2024-01-01 TO=2024-02-01"  # a backfill',
};

const verb = (call: string, load: VerbSpec['load'], about: string, flags = ''): VerbSpec => {
  const [name = ''] = call.split(' ');
  return { call, load, about, flags, example: examples[name] ?? `tidemark ${call}` };
};

/** Loads one of the verbs of a file. */
const of =
  <M extends object>(file: () => Promise<M>) =>
  (name: keyof M) =>
  async () =>
    (await file())[name] as Verb<never>;
const run = of(() => import('./run.ts'));
const setup = of(() => import('./setup.ts'));
const inspect = of(() => import('./inspect.ts'));
const demo = of(() => import('./demo.ts'));
const serve = of(() => import('./serve.ts'));
const remote = of(() => import('./remote.ts'));

/** `--stream a,b --stream c` and `--stream a b` are the same. A list that is empty (an unset variable) must not mean all. */
function listOf(value: string, before: readonly string[] = []): readonly string[] {
  const names = value.split(',').map((name) => name.trim());
  if (!names.some(Boolean)) throw new InvalidArgumentError('Name a stream, or leave the flag out.');
  return [...before, ...names.filter(Boolean)];
}

const numberOf = (least: number, most: number) => (value: string) => {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (number >= least && number <= most) return number;
  throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
};
const whole = numberOf(0, 999_999_999);
const port = numberOf(0, 65_535);

const flag = (flags: string, about: string): Option => new Option(flags, about);

export const flags: Readonly<Record<string, Option>> = {
  streams: flag('--stream <name...>', 'only these streams').argParser(listOf),
  stream: flag('--stream <name>', 'only of this stream'),
  pipeline: flag('--pipeline <name>', 'only of this pipeline'),
  full: flag('--full', 'read everything again'),
  dryRun: flag('--dry-run', 'only print what would be done'),
  from: flag('--from <date>', 'first day or instant, e.g. 2024-01-01 (UTC)').makeOptionMandatory(),
  to: flag('--to <date>', 'end, not included, e.g. 2024-02-01 (UTC)').makeOptionMandatory(),
  all: flag('--all', 'also those that were resolved'),
  limit: flag('--limit <n>', 'how many').default(50).argParser(numberOf(1, 999_999_999)),
  seed: flag('--seed <n>', 'another seed is another company').default(7).argParser(whole),
  issues: flag('--issues <n>', 'how many issues it has').default(5000).argParser(whole),
  keep: flag('--keep', 'stay until Ctrl-C, with the warehouse open'),
  simulatedPort: flag('--port <n>', 'where to listen; 0 takes a free port').default(0).argParser(port),
  latency: flag('--latency <n>', 'delay of each answer, ms').default(0).argParser(whole),
  dialect: flag('--dialect <name>', 'whose API').choices(['contract', 'vendor']).default('contract'),
  host: flag('--host <address>', 'where to listen (TIDEMARK_HOST; 127.0.0.1)'),
  port: flag('--port <n>', 'its port; 0 takes a free one (TIDEMARK_PORT; 8080)').argParser(port),
  url: flag('--url <address>', 'where it serves (TIDEMARK_HOST and TIDEMARK_PORT)'),
  params: flag('--params <pairs>', 'start: e.g. "FROM=2024-01-01 TO=2024-02-01 STREAMS=issues"'),
  runId: flag('--run-id <id>', 'start: the same id again gives the same run'),
};

/** In the order in which the help lists them. */
export const verbs: readonly VerbSpec[] = [
  verb(
    'sync [pipeline...]',
    run('sync'),
    'read what changed, of all or the named sources',
    'streams full dryRun',
  ),
  verb('backfill <pipeline>', run('backfill'), 'read the window [from, to) again', 'from to streams dryRun'),
  verb('reconcile <pipeline>', run('reconcile'), 'read all ids; mark what is deleted', 'streams'),
  verb('init', setup('init'), 'write a .env to fill in'),
  verb('check', setup('check'), 'one authenticated request a source, a write and rollback on the warehouse'),
  verb('migrate', setup('migrate'), 'bring the schema up to date (sync does it by itself)', 'dryRun'),
  verb('status', inspect('status'), 'how fresh every stream is'),
  verb('runs [id]', inspect('runs'), 'the last runs, or one with its streams and receipts', 'limit pipeline'),
  verb('logs [id]', inspect('logs'), 'the log of a run of tidemark serve (the newest)', 'limit'),
  verb('streams [name]', inspect('streams'), 'the streams, or one with its columns and receipts'),
  verb('rejects list', inspect('list'), 'records that could not become rows, and why', 'stream all limit'),
  verb('rejects replay [id]', run('replay'), 'try them anew, e.g. after an update', 'stream pipeline'),
  verb('reset <stream>', setup('reset'), 'let the next sync read all of a stream; its rows stay', 'pipeline'),
  verb('why <table> <key>', inspect('why'), 'where one row comes from'),
  verb('simulate', setup('simulate'), 'start simulated sources', 'seed issues simulatedPort latency dialect'),
  verb('demo', demo('demo'), 'see it work: a simulated company, a warehouse, two syncs', 'seed issues keep'),
  verb('warehouse', setup('warehouse'), 'start the embedded warehouse for psql; runs until Ctrl-C'),
  verb('serve', serve('serve'), 'scheduler, control API and dashboard; runs until stopped', 'host port'),
  verb(
    'remote <action> <dag> [run]',
    remote('remote'),
    'start, status, stop, retry, runs or log elsewhere',
    'url params runId limit',
  ),
  verb('start', demo('start'), 'what npm start does: sync everything configured, or the demo if nothing is'),
];
