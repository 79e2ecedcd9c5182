/** The pages of docs/reference: commands, variables, exit codes and metrics, as the program declares them. */
import type { Command } from 'commander';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { exit, exitCodes } from '../src/cli/exit.ts';
import { hidden, program, verbs } from '../src/cli/program.ts';
import { readConfig } from '../src/config/config.ts';
import { shippedPipelines } from '../src/config/pipeline-files.ts';
import type { Connector } from '../src/connectors/connector.ts';
import { nextSteps } from '../src/core/describe-error.ts';
import { metrics } from '../src/server/api/metrics.ts';
import { code, table } from './markdown.ts';
import { variableDefaults, meanings as variables } from './variables.ts';

/** The texts of the pages by their names below docs. */
export const referencePages = async (): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ['reference/cli.md', commandsPage()],
    ['reference/variables.md', await variablesPage()],
    ['reference/exit-codes.md', exitCodesPage()],
    ['reference/metrics.md', await metricsPage()],
  ]);

const page = (title: string, about: string, ...parts: readonly string[]): string =>
  [
    `# ${title}`,
    '',
    'Written by `npm run docs` from the program itself; do not edit it by hand.',
    about,
    '',
    ...parts,
  ]
    .join('\n')
    .replace(/\n*$/, '\n');

// Commands

const sink = {
  write: () => undefined,
  line: () => undefined,
  paint: (_: string, text: string) => text,
  live: false,
  columns: undefined,
  stream: process.stdout,
  flush: async () => undefined,
};

function commandsPage(): string {
  const root = program('', sink, sink, async () => undefined);
  const shown = root.commands.filter((command) => !hidden.includes(command.name())).flatMap(leavesOf);
  return page(
    'Commands',
    'What the commands are for, in words: the [README](../../README.md#commands) and [operations](../operations.md). How they end: [exit codes](exit-codes.md).',
    ...table(
      ['command', 'what it does'],
      shown.map((command) => [
        `[${nameOf(command)}](#${nameOf(command).replaceAll(' ', '-')})`,
        command.description(),
      ]),
    ),
    '',
    '## Options of every command',
    '',
    ...optionsOf(root),
    '',
    ...shown.flatMap(commandPart),
  );
}

/** A group has no work of its own. */
const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

const optionsOf = ({ options }: Command): readonly string[] =>
  table(
    ['option', 'what it is', 'default'],
    options.map(({ flags, description, defaultValue, argChoices, mandatory }) => [
      code(flags),
      description + (argChoices === undefined ? '' : `: ${argChoices.map(code).join(', ')}`),
      mandatory ? 'must be given' : defaultValue === undefined ? '' : code(String(defaultValue)),
    ]),
  );

function commandPart(command: Command): readonly string[] {
  const name = nameOf(command);
  const { call, example = '' } = verbs.find((verb) => verb.call.replace(/ [<[].*/, '') === name) ?? {};
  return [
    `## ${name}`,
    '',
    `${command.description()}.`,
    '',
    `- Call: ${code(`tidemark ${call ?? name}`)}`,
    `- Example: ${code(example.replace(/ {2}#.*/, ''))}`,
    '',
    ...(command.options.length === 0 ? [] : [...optionsOf(command), '']),
  ];
}

// Variables

/** Variables of the terminal, which are read by all programs alike. */
const ofTerminal = [
  ['NO_COLOR', 'not empty: no colours'],
  ['FORCE_COLOR', 'not empty: colours also off a terminal; beats `NO_COLOR`; `0` or `false`: none'],
  ['TERM', '`dumb`: no live display and no colours'],
] as const;

async function variablesPage(): Promise<string> {
  const { shown } = readConfig({}, '/nowhere', await shippedPipelines<Connector>());
  const rows = shown.map(({ name, isSecret, value }) => [
    code(name),
    variableDefaults[name] ?? (value === '' ? '' : code(value)),
    isSecret ? 'yes' : '',
    variables[name] ?? '',
  ]);
  return page(
    'Variables',
    'Where they are read from: [operations](../operations.md#configuration).\nA *secret* can also be a file: `NAME_FILE=/path/to/file`. A pipeline of your own has variables of its own name: [pipelines](../guides/pipelines.md).',
    ...table(['variable', 'default', 'secret', 'what it is'], rows),
    '',
    'Of the terminal:',
    '',
    ...table(
      ['variable', 'what it is'],
      ofTerminal.map(([name, what]) => [code(name), what]),
    ),
  );
}

// Exit codes

/** What an exit code means, by its name. */
const meanings: Readonly<Record<keyof typeof exit, string>> = {
  ok: 'done, and complete',
  failed: 'failed; also where two sides are not equal, or a row is not there',
  usage: 'wrong words or configuration',
  partly: 'partly failed, or a look is needed: the rest is stored',
  connection: 'cannot connect or sign in, at the source or the warehouse',
  locked: 'another run holds the pipeline',
  SIGINT: 'stopped by Ctrl-C',
  SIGTERM: 'stopped by SIGTERM',
};

const exitCodesPage = (): string =>
  page(
    'Exit codes',
    'What to do about each, and which commands have a meaning of their own: [operations](../operations.md#exit-codes).',
    ...table(
      ['exit code', 'means'],
      Object.entries(exit).map(([name, number]) => [String(number), meanings[name as keyof typeof exit]]),
    ),
    '',
    'Errors are printed as `error: what is wrong · what to do`. With `--json` an error has a code, as `ops.runs.error_code` has:',
    '',
    ...table(
      ['error code', 'exit code', 'what to do'],
      [...new Set([...Object.keys(nextSteps), ...Object.keys(exitCodes), 'interrupted'])].map((name) => [
        code(name),
        name === 'interrupted' ? '130 or 143' : String(exitCodes[name] ?? exit.failed),
        nextSteps[name] ?? '',
      ]),
    ),
  );

// Metrics

async function metricsPage(): Promise<string> {
  const register = new Registry();
  collectDefaultMetrics({ register, prefix: 'tidemark_' });
  const own = (await register.getMetricsAsJSON()).map(({ name, type, help }) => [
    code(name),
    String(type),
    help,
  ]);
  return page(
    'Metrics',
    'Of `GET /metrics` of `tidemark serve`. Which of them to watch: [alerts](../guides/alerts.md#metrics).',
    ...table(
      ['metric', 'type', 'what it is'],
      [
        [code('tidemark_build_info'), 'gauge', 'The running version.'],
        ...metrics.map(([name, type, help]) => [code(`tidemark_${name}`), type, help]),
      ],
    ),
    '',
    'Of the process, as every program on Node has them:',
    '',
    ...table(['metric', 'type', 'what it is'], own),
  );
}
