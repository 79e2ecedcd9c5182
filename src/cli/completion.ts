/** Completion in shells: `completion` prints a script, which at each Tab calls the hidden `complete` for what may come next. */
import type { Command } from 'commander';
import { unknown } from '../runs/pipelines.ts';
import type { Context, Verb } from './context.ts';
import { exit } from './exit.ts';
import { hidden, program } from './program.ts';

/** Bash and zsh pass the line in COMP_LINE and the place of the cursor in COMP_POINT (bash(1), "Programmable Completion"). */
const bash = `complete -o default -C 'tidemark complete --' tidemark`;

const scripts: Readonly<Record<string, string>> = {
  bash,
  zsh: `autoload -U +X bashcompinit && bashcompinit\n${bash}`,
  fish: `complete -c tidemark -f -a '(env COMP_LINE=(commandline -cp) tidemark complete)'`,
};

/** Prints the script of a shell. */
export const completion: Verb<{ shell: string }> = async ({ out }, { shell }) => {
  out.line(scripts[shell] ?? unknown('shell', shell, Object.keys(scripts)));
  return exit.ok;
};

/** Prints the words that may replace the last word before the cursor. */
export const complete: Verb = async (context) => {
  const { COMP_LINE: line = '', COMP_POINT: point = line.length } = context.host.env;
  const [, ...words] = line.slice(0, Number(point)).trimStart().split(/\s+/);
  const last = words.pop() ?? '';
  const found = await candidates(context, words, last);
  for (const word of found.filter((each) => each.startsWith(last))) context.out.line(word);
  return exit.ok;
};

/** `before`: the words between the name of the program and the last one. */
async function candidates(context: Context, before: readonly string[], last: string) {
  const root = program('', context.out, context.err, async () => undefined);
  let command: Command = root;
  for (const word of before) command = command.commands.find((each) => each.name() === word) ?? command;
  const options = command === root ? root.options : [...command.options, ...root.options];
  const option = options.find(({ long, short }) => [long, short].includes(before.at(-1)));
  if (option?.required) return option.argChoices ?? (await valuesOf(context, option.attributeName()));
  if (last.startsWith('-')) return options.flatMap(({ long }) => long ?? []);
  const names = command.commands.map((each) => each.name()).filter((name) => !hidden.includes(name));
  const values = command.registeredArguments.map((each) => valuesOf(context, each.name()));
  return [...names, ...(await Promise.all(values)).flat()];
}

/** The values of an option or an argument, where they are known. None where the configuration has a problem: `tidemark check` says which. */
async function valuesOf({ parts }: Context, name: string): Promise<readonly string[]> {
  if (name === 'shell') return Object.keys(scripts);
  if (name !== 'pipeline' && name !== 'dag') return [];
  const config = await parts.config().catch(() => undefined);
  return config?.pipelines.map((each) => each.name) ?? [];
}
