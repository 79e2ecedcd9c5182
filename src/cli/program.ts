/** The command line: the verbs as data, each loaded when it is called, so that `--help` stays fast; and commander, filled from them. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Context, Sink, Verb } from './context.ts';
import { usageError } from './exit.ts';

/** The options that every verb takes. */
export type Flags = Partial<Pick<Context, 'json' | 'quiet' | 'verbose'>>;

/** Runs a loaded verb with its arguments and options. */
type Start = (verb: Verb<never>, options: never, flags: Flags) => Promise<void>;

/** Where the call itself says too little. */
const examples: Readonly<Record<string, string>> = {
  sync: 'tidemark sync tracker --full --dry-run  # what would a full read cost?',
  backfill: 'tidemark backfill tracker --from 2024-01-01 --to 2024-02-01  # what was created in January 2024',
  derive: 'tidemark derive --all',
  init: 'tidemark init jira --set baseUrl=https://example.atlassian.net --set email=me@example.com --set apiToken=@token',
  export: 'tidemark export --to warehouse-files  # for DuckDB, BigQuery, Snowflake',
  'grant-reader': 'tidemark grant-reader metabase  # prints its connection string',
  reset: 'tidemark reset issues && tidemark sync  # read all issues again',
  completion: 'tidemark completion bash >> ~/.bashrc',
  reconcile: 'tidemark reconcile tracker',
  why: 'tidemark why issues PROJ-7',
  compare: `tidemark compare tracker --jql 'project = WEB' --where "project_key = 'WEB'"`,
  simulate: 'tidemark simulate --dialect vendor  # prints what to put into .env',
  serve: 'TIDEMARK_API_TOKEN_FILE=token tidemark serve --host 0.0.0.0  # also for other machines',
  remote: 'tidemark remote start tracker --params "FROM=2024-01-01 TO=2024-02-01"  # a backfill',
};

const run = () => import('./run.ts');
const plan = () => import('./plan.ts');
const init = () => import('./init.ts');
const setup = () => import('./setup.ts');
const inspect = () => import('./inspect.ts');
const demo = () => import('./demo.ts');
const serve = () => import('./serve.ts');
const remote = () => import('./remote.ts');
const bi = () => import('./bi.ts');
const compare = () => import('./compare.ts');
const completion = () => import('./completion.ts');

/**
 * `call`: its name and arguments, as commander reads them; a verb of two words belongs to a group. `file` has a function of the last of these names,
 * which gets arguments and flags by their names. `flags`: names of its flags in `flags`, with blanks between them.
 */
const verb = (call: string, file: () => Promise<object>, about: string, flags = '') => {
  const [group = '', name = group] = call.match(/(?<!\S)[\w-]+/g) ?? [];
  return {
    call,
    file,
    name,
    about,
    flags,
    example: examples[group] ?? `tidemark ${call.replace(/ \[.*/, '')}`,
  };
};

/** `--stream a,b --stream c` and `--stream a b` are the same. A list that is empty (an unset variable) must not mean all. */
function listOf(value: string, before: readonly string[] = []): readonly string[] {
  const names = value.split(',').map((name) => name.trim());
  if (!names.some(Boolean)) throw new InvalidArgumentError('Name one, or leave the flag out.');
  return [...before, ...names.filter(Boolean)];
}

const each = (value: string, before: readonly string[] = []) => [...before, value];

const numberOf = (least: number, most: number) => (value: string) => {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (number >= least && number <= most) return number;
  throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
};
const whole = numberOf(0, 999_999_999);
const port = numberOf(0, 65_535);

const flag = (flags: string, about: string): Option => new Option(flags, about);

const flags: Readonly<Record<string, Option>> = {
  streams: flag('--stream <name...>', 'only these streams').argParser(listOf),
  stream: flag('--stream <name>', 'only of this stream'),
  pipeline: flag('--pipeline <name>', 'only of this pipeline'),
  name: flag('--name <name>', 'of the pipeline (tracker, ads or workflow)'),
  set: flag('--set <key=value>', 'a setting; again for each; a secret as key=@file').argParser(each),
  full: flag('--full', 'read everything again'),
  dryRun: flag('--dry-run', 'only print what would be done'),
  jobs: flag('--jobs <n>', 'how many pipelines at once (TIDEMARK_JOBS)').argParser(numberOf(1, 64)),
  folder: flag('--to <folder>', 'where to; made, or replaced if it holds an export').makeOptionMandatory(),
  format: flag('--format <name>', 'of the files').choices(['parquet', 'csv']).default('parquet'),
  views: flag('--view <name...>', 'only these views').argParser(listOf),
  jql: flag('--jql <query>', 'what to ask the source, as people ask it').makeOptionMandatory(),
  where: flag('--where <condition>', 'what to count in bi: a condition in SQL'),
  since: flag('--since <date>', 'only rows of this day and later, of views with days'),
  pii: flag('--pii', 'also e-mails and free text: bi_pii'),
  newPassword: flag('--new-password', 'another password for a login that exists'),
  from: flag('--from <date>', 'first day or instant, e.g. 2024-01-01 (UTC)').makeOptionMandatory(),
  to: flag('--to <date>', 'end, not included, e.g. 2024-02-01 (UTC)').makeOptionMandatory(),
  hours: flag('--hours <n>', 'how long the night may take').default(8).argParser(numberOf(1, 500)),
  all: flag('--all', 'also those that were resolved'),
  everything: flag('--all', 'of all issues').makeOptionMandatory(),
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
export const verbs = [
  verb(
    'sync [pipeline...]',
    run,
    'read what changed, of the named sources; without names a night: of all, with the reconciles that are due',
    'streams full dryRun jobs',
  ),
  verb('backfill <pipeline>', run, 'read the window [from, to) again', 'from to streams dryRun'),
  verb('plan [pipeline...]', plan, 'what runs tonight, how long it takes, and whether it fits', 'hours'),
  verb('reconcile <pipeline>', run, 'read all ids; mark what is deleted', 'streams'),
  verb('init [source]', init, 'set up a source: .env, a pipeline file, a test of it', 'name set'),
  verb('check', setup, 'one authenticated request a source, a write and rollback on the warehouse'),
  verb('config', setup, 'every value of the configuration, and where it comes from'),
  verb('migrate', setup, 'bring the schema up to date (sync does it by itself)', 'dryRun'),
  verb('derive', setup, 'make the stored facts of bi anew; every write keeps them by itself', 'everything'),
  verb('status [pipeline]', inspect, 'how fresh every stream is, and what to do; of one also its runs'),
  verb('runs [id]', inspect, 'the last runs, or one with its streams and receipts', 'limit pipeline'),
  verb('logs [id]', inspect, 'the log of a run (the newest)', 'limit'),
  verb('streams [name]', inspect, 'the streams, or one with its columns and receipts'),
  verb('rejects list', inspect, 'records that could not become rows, and why', 'stream all limit'),
  verb('rejects replay [id]', run, 'try them anew, e.g. after an update', 'stream pipeline'),
  verb('reset <stream>', setup, 'let the next sync read all of a stream; its rows stay', 'pipeline'),
  verb('why <table> <key>', inspect, 'where one row comes from', 'pipeline'),
  verb('compare <pipeline>', compare, 'count both sides, and say why they differ', 'jql where limit'),
  verb('simulate', setup, 'start simulated sources', 'seed issues simulatedPort latency dialect'),
  verb('demo', demo, 'see it work: a simulated company, a warehouse, two syncs', 'seed issues keep'),
  verb('warehouse', setup, 'start the embedded warehouse for psql; runs until Ctrl-C'),
  verb('grant-reader <name>', bi, 'a login for BI tools that sees bi and nothing else', 'pii newPassword'),
  verb('export', bi, 'the views of bi as Parquet or CSV', 'folder format views since'),
  verb('serve', serve, 'scheduler, control API and dashboard; runs until stopped', 'host port'),
  verb('notify test', setup, 'send a test message to each channel of notifications'),
  verb(
    'remote <action> <dag> [run]',
    remote,
    'start, status, stop, retry, runs or log elsewhere',
    'url params runId limit',
  ),
  verb('completion <shell>', completion, 'print the script that completes commands in bash, zsh or fish'),
  verb('complete [words...]', completion, 'what the script asks: the words that may come next'),
  verb('start', demo, 'what npm start does: sync everything configured, or the demo if nothing is'),
];

/** Verbs that people do not type. */
export const hidden: readonly string[] = ['start', 'complete'];

const firstSteps = `tidemark demo  # see it work, with nothing set up
  $ tidemark check  # are the settings right?
  $ tidemark sync  # bring the warehouse up to date
  $ tidemark status  # how fresh is everything?`;

const after = `
Settings come from the environment and .env; see docs/reference/variables.md.
Exit codes: 0 ok · 1 failed · 2 usage or configuration · 3 partly failed · 4 cannot connect or sign in · 5 another run is going · 130/143 stopped`;

/** Throws CommanderError for what it does not understand. */
export function program(version: string, out: Sink, err: Sink, start: Start): Command {
  const root = new Command('tidemark')
    .description('Keeps a Postgres warehouse equal to Jira, Spotify Ads and Dagu, every night and on demand.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [verb]', 'show help for a verb')
    .option('--json', 'print JSON: one document, or one event a line for what runs')
    .option('-q, --quiet', 'print only what went wrong')
    .option('-v, --verbose', 'print more: causes of errors, a log')
    .option('--no-color', 'print without colours (also NO_COLOR; FORCE_COLOR turns them on)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(`${usageError(text)}\n`),
    })
    .exitOverride()
    .addHelpText('before', exampleText(firstSteps))
    .addHelpText('after', after);
  for (const spec of verbs) {
    const command = commandOf(root, spec).description(spec.about);
    command.addHelpText('before', exampleText(spec.example));
    for (const name of spec.flags.split(' ').filter(Boolean)) command.addOption(flags[name] as Option);
    command.action(async () => {
      const args = command.registeredArguments.map((each, at) => [each.name(), command.processedArgs[at]]);
      const options = { ...command.opts(), ...Object.fromEntries(args) };
      const found = (await spec.file()) as Record<string, Verb<never>>;
      await start(found[spec.name] as Verb<never>, options as never, root.opts<Flags>());
    });
  }
  return root;
}

/** What a group of verbs of two words is about. */
const groups: Readonly<Record<string, string>> = {
  rejects: 'records that could not become rows',
  notify: 'the channels of notifications',
};

/** A verb of two words becomes a command of its group. */
function commandOf(root: Command, { call, example }: (typeof verbs)[number]): Command {
  const [name = '', verb] = call.split(/ (?=[a-z])/);
  if (verb === undefined) return root.command(call, { hidden: hidden.includes(name) });
  const made = root.commands.find((each) => each.name() === name);
  const group =
    made ??
    root
      .command(name)
      .description(groups[name] ?? '')
      .helpCommand(false);
  if (made === undefined) group.addHelpText('before', exampleText(example));
  return group.command(verb);
}

const exampleText = (text: string): string => `Examples:\n  $ ${text}\n`;
