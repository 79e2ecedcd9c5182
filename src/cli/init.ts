/** `tidemark init`: writes `.env` and the pipeline file of a source, from flags or answers, and tests the connection. */
import fs from 'node:fs';
import path from 'node:path';
import { misconfigured, readConfig } from '../config/config.ts';
import { type PipelineDefinition, type PipelineOptions, pipeline } from '../config/pipeline.ts';
import { folderOf, pipelineFiles, shippedPipelines } from '../config/pipeline-files.ts';
import { env, type Setting, secret, setting, variableOf } from '../config/settings.ts';
import { SourceReader } from '../config/source-reader.ts';
import { Variables, withVariable } from '../config/variables.ts';
import type { Connector } from '../connectors/connector.ts';
import { makeDirectory } from '../core/make-directory.ts';
import { pipelineOf, unknown } from '../runs/pipelines.ts';
import type { Context, Verb } from './context.ts';
import { print } from './output.ts';
import { askSource, checked, tableOf } from './setup.ts';

type InitFlags = { readonly source?: string; readonly name?: string; readonly set?: readonly string[] };
type DeclaredPipeline = PipelineOptions<Connector>;

/** Without a source it only makes `.env` from the example, readable by its owner only. */
export const init: Verb<InitFlags> = async (context, { source, name, set = [] }) => {
  const sources = pipelinesOf(await shippedPipelines<Connector>()).flatMap((declared) => {
    const { name, kinds } = declared.source.connector;
    return Object.entries({ [name]: [], ...kinds }).map(([called, given]) => ({ called, declared, given }));
  });
  const names = sources.map((each) => each.called);
  const choice = setting.text(`the source: ${names.join(', ')}; empty: none yet`).optional();
  const called = source ?? (await ask(context, 'source', choice));
  const meant = sources.find((each) => plain(each.called) === plain(called));
  const file = path.join(context.host.cwd(), '.env');
  const created = !fs.existsSync(file);
  const example = new URL('../../.env.example', import.meta.url);
  if (created) fs.writeFileSync(file, fs.readFileSync(example), { mode: 0o600, flag: 'wx' });
  if (called === '') {
    const did = created ? `Wrote ${file}.` : `${file} exists already; it was not changed.`;
    const next = 'Fill in the credentials of a source there, then run `tidemark check` and `tidemark sync`.';
    return print(context, { file, created }, [did, next]);
  }
  const { declared, given } = meant ?? unknown('source', called, names);
  const ours = { ...declared, ...(name && { name }) };
  const { files, added, isKept } = await write(context, file, ours, [...given, ...set]);
  const config = await context.parts.config();
  const check = await checked(context, ours.name, () => askSource(context, pipelineOf(config, ours.name)));
  const next = check.error ? 'tidemark check' : `tidemark sync ${ours.name}`;
  const hint = `${check.error ? `Correct ${file}. Then` : 'Next'}: \`${next}\``;
  const isNightly = config.nightly.pipelines.includes(ours.name);
  const nightly = !isNightly && `The file of nightly names its pipelines: add ${ours.name} there.`;
  const blocks = [
    files.length > 0 && `Wrote ${files.join(', ')}.`,
    added.length > 0 ? `Added ${added.join(', ')} to ${file}.` : `Nothing was missing in ${file}.`,
    isKept && `There is a file of ${ours.name} already: it was not changed.`,
    tableOf([check]),
    nightly,
    hint,
  ];
  const data = { file, created, pipeline: ours.name, files, added, check, next };
  return print(context, data, blocks, check.exitCode);
};

/** The name of a source as it is compared: without hyphens and capitals. */
const plain = (word: string): string => word.replaceAll('-', '').toLowerCase();

const pipelinesOf = (files: readonly { readonly definition: PipelineDefinition<Connector> }[]) =>
  files.map(({ definition }) => definition).filter((each) => each.is === 'pipeline');

/** A source that is being set up. */
interface Draft {
  readonly host: Context['host'];
  readonly pipeline: DeclaredPipeline;
  readonly from: Variables;
  readonly variable: (key: string) => string;
}

/** Values by key. */
type ValuesByKey = Map<string, string>;

/** Every setting of the source from its variable. */
function draftOf(host: Context['host'], { name, source: { connector } }: DeclaredPipeline): Draft {
  const variable = (key: string) => variableOf(name.toUpperCase().replaceAll('-', '_'), key);
  const settings = Object.entries(connector.settings);
  const given = settings.map(([key, { isSecret }]) => [key, (isSecret ? secret : env)(variable(key))]);
  const source = { connector, given: Object.fromEntries(given) };
  return { host, pipeline: { name, source }, from: new Variables(host.env, host.cwd()), variable };
}

/** The environment with these values. */
const withValues = ({ host, variable }: Draft, values: ValuesByKey) => ({
  ...host.env,
  ...Object.fromEntries([...values].map(([key, value]) => [variable(key), value])),
});

/** What is missing or wrong with these values, by key. */
function complaintsOf(draft: Draft, values: ValuesByKey): SourceReader['complaints'] {
  const from = new Variables(withValues(draft, values), draft.host.cwd());
  const reader = new SourceReader(from, '', draft.pipeline.source);
  reader.read();
  return reader.complaints;
}

/** What the environment or `.env` has. */
const currentOf = ({ from, variable }: Draft, key: string, { isSecret }: Setting): string | undefined =>
  isSecret ? from.secret(variable(key)) : from.text(variable(key));

/** Asks for what is missing, for what would do instead, for a login, and for a secret of which the connector cannot say whether it is needed. */
async function askMissing(context: Context, draft: Draft, values: ValuesByKey): Promise<void> {
  const { connector } = draft.pipeline.source;
  const logins = new Set<string>(connector.logins);
  for (const [key, each] of Object.entries(connector.settings)) {
    const isGiven = values.has(key) || Boolean(currentOf(draft, key, each));
    if (isGiven && logins.has(key)) logins.clear();
    if (isGiven) continue;
    const complaints = complaintsOf(draft, values);
    const isInstead = [...complaints.values()].some(({ instead }) => instead === key);
    const isUnsure = logins.has(key) || (each.isSecret && connector.check === undefined);
    const answer = complaints.has(key) || isInstead || isUnsure ? await ask(context, key, each) : '';
    if (answer) values.set(key, answer);
    if (answer && logins.has(key)) logins.clear();
  }
}

/** Throws Misconfigured with every value that is missing, wrong, or another one in the environment or `.env`. */
function refuseWrong(draft: Draft, values: ValuesByKey): void {
  const { from, variable, pipeline } = draft;
  for (const [key, each] of Object.entries(pipeline.source.connector.settings)) {
    const current = currentOf(draft, key, each);
    if (current && values.has(key) && current !== values.get(key))
      from.problem(variable(key), `has another value in ${from.originOf(variable(key))}; change it there`);
  }
  for (const [key, { what, instead }] of complaintsOf(draft, values))
    from.problem(`--set ${key}=…`, `${what}${instead ? `; or --set ${instead}=…` : ''}`);
  if (from.problems.length > 0) throw misconfigured(from.problems);
}

/** Writes `.env` and pipeline files from flags and answers. `added`: the variables; `isKept`: the file of the pipeline was there. Throws Misconfigured, before it writes, for what is missing or wrong. */
async function write(context: Context, dotenv: string, declared: DeclaredPipeline, set: readonly string[]) {
  const draft = draftOf(context.host, declared);
  const { from, variable, pipeline: ours } = draft;
  const { settings } = ours.source.connector;
  const values = flagsOf(set, ours.source.connector, from);
  await askMissing(context, draft, values);
  refuseWrong(draft, values);
  const folder = folderOf(from);
  const fileOf = (each: DeclaredPipeline) => path.join(folder, `${each.name}.ts`);
  const inForce = await pipelineFiles<Connector>(from);
  const own = inForce.filter(({ file }) => fs.existsSync(path.resolve(from.cwd, file)));
  const lost = own.length > 0 ? [] : lostOf(pipelinesOf(inForce), ours, from);
  const made = [...lost, ours].filter((each) => !fs.existsSync(fileOf(each)));
  // Refuses what only all pipelines together show, such as a name that is taken.
  const files = made.map((each) => ({ file: fileOf(each), definition: pipeline(each) }));
  readConfig<Connector>(withValues(draft, values), from.cwd, [...own, ...files]);
  const lines = Object.entries(settings)
    .filter(([key, each]) => values.has(key) || currentOf(draft, key, each))
    .map(([key, { isSecret }]) => `    ${key}: ${isSecret ? 'secret' : 'env'}('${variable(key)}'),\n`);
  const fresh = [...values].filter(([key]) => !currentOf(draft, key, settings[key] as Setting));
  const old = fs.readFileSync(dotenv, 'utf8');
  const text = fresh.reduce((before, [key, value]) => withVariable(before, variable(key), value), old);
  fs.writeFileSync(dotenv, text);
  makeDirectory(folder);
  for (const each of made) fs.writeFileSync(fileOf(each), textOf(each, lines.join('')));
  const added = fresh.map(([key]) => variable(key));
  return { files: made.map(fileOf), added, isKept: !made.includes(ours) };
}

/** The shipped pipelines that have variables: with a first file of the user's own they are no longer read. */
const lostOf = (shipped: readonly DeclaredPipeline[], ours: DeclaredPipeline, from: Variables) =>
  shipped
    .filter(({ name, source }) => name !== ours.name || source.connector !== ours.source.connector)
    .filter(({ source }) => from.names().some((one) => one.startsWith(`${source.prefix}_`)));

/** What `--set key=value` gives, by key. The value of a secret may be `@` and the file that holds it. */
function flagsOf(set: readonly string[], { settings }: Connector, from: Variables): ValuesByKey {
  const values: ValuesByKey = new Map();
  for (const pair of set) {
    const [, key = '', text = ''] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
    const { isSecret } = settings[key] ?? unknown('setting', key, Object.keys(settings));
    const isFile = isSecret && text.startsWith('@');
    const value = isFile ? from.file(key, path.resolve(from.cwd, text.slice(1))) : text.trim();
    if (value) values.set(key, value);
  }
  return values;
}

/** A pipeline file. `settings`: the lines of a source that is not read from all variables with its prefix. */
function textOf({ name, source: { connector, prefix } }: DeclaredPipeline, settings: string): string {
  const call = prefix ? `.fromEnv('${prefix}')` : `({\n${settings}  })`;
  const used = ['env', 'secret'].filter((word) => call.includes(` ${word}(`));
  const declared = `pipeline({\n  name: '${name}',\n  source: ${connector.name}${call},\n})`;
  return `import { ${[...used, connector.name, 'pipeline'].sort().join(', ')} } from 'tidemark';\n\nexport default ${declared};\n`;
}

/** Asks until the answer is right. Empty where there is no terminal. */
async function ask(context: Context, key: string, setting: Setting): Promise<string> {
  if (context.ask === undefined) return '';
  const answer = await context.ask(`${setting.about}\n${key}: `, setting.isSecret);
  const wrong = setting.schema.safeParse(answer || undefined).error;
  if (wrong === undefined) return answer;
  context.err.line(answer ? wrong.issues[0]?.message : 'It must be given.');
  return ask(context, key, setting);
}
