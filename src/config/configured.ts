/** Pipelines as their files declare them, checked, with the values of their settings. */
import type { OnSuccess } from '../core/dag-engine.ts';
import type { Configurable, Job, NightlyOptions, PipelineOptions, SourceOf } from './pipeline.ts';
import type { PipelineFile } from './pipeline-files.ts';
import { SourceReader } from './source-reader.ts';
import { didYouMean } from './suggest.ts';
import type { Variables } from './variables.ts';

/** What runs by itself or by its name. */
interface Runnable {
  readonly name: string;
  readonly about: string;
  /** Where it is declared, or its schedule is set, for people. */
  readonly file: string;
  readonly jobs: readonly Job[];
  readonly onSuccess?: OnSuccess;
}

/** A pipeline that can be named in commands. */
export interface ConfiguredPipeline<C extends Configurable = Configurable> extends Runnable {
  readonly connector: C;
  /** The values of the connector's settings; undefined: the pipeline is not configured. */
  readonly values: Readonly<Record<string, unknown>> | undefined;
  /** What would configure it: the name of a variable. */
  readonly needs: string;
  /** A setting as the user knows it: TRACKER_EMAIL, or the file and the key. */
  readonly nameOf: (key: string) => string;
}

/** The run over several pipelines. */
export interface Nightly extends Runnable {
  /** Names of its pipelines, in their order. */
  readonly pipelines: readonly string[];
}

/** When things run unless a file says otherwise. */
type Defaults = Required<Pick<NightlyOptions, 'schedule' | 'timeZone'>>;

export const nightlyName = 'nightly';
const everySunday = '0 0 * * 0';

/** Every problem goes to `from`; what it returns is to be used only if there was none. */
export function configuredOf<C extends Configurable>(
  from: Variables,
  files: readonly PipelineFile<C>[],
  defaults: Defaults,
) {
  const found = files.flatMap(({ file, definition }) =>
    definition.is === 'pipeline' ? [{ file, options: definition as PipelineOptions<C> }] : [],
  );
  for (const each of found) checkPipeline(from, each, found);
  const nightly = nightlyOf(from, files, defaults, found);
  const turnOf = ({ options: { name } }: DefinedPipeline<C>) =>
    nightly.pipelines.includes(name) ? nightly.pipelines.indexOf(name) : nightly.pipelines.length;
  const pipelines = found
    .filter(({ options }) => isSource(options.source))
    .toSorted((a, b) => turnOf(a) - turnOf(b))
    .map(({ file, options }): ConfiguredPipeline<C> => {
      const { name, source, exclude, onSuccess, about = source.connector.about } = options;
      const given = { ...source.given, ...(exclude && { exclude }) };
      const reader = new SourceReader(from, file, { ...source, given });
      return {
        name,
        about,
        file,
        connector: source.connector,
        values: reader.read(),
        needs: reader.needs(),
        nameOf: reader.nameOf,
        jobs: jobsOf(options, defaults, nightly),
        ...(onSuccess && { onSuccess }),
      };
    });
  return { pipelines, nightly };
}

interface DefinedPipeline<C extends Configurable> {
  readonly file: string;
  readonly options: PipelineOptions<C>;
}

const isSource = (source: Partial<SourceOf<Configurable>> | undefined): boolean =>
  source?.connector !== undefined && source.given !== undefined;

const pipelineKeys = ['name', 'about', 'source', 'schedule', 'exclude', 'onSuccess', 'is'];
const scheduleKeys = ['sync', 'full', 'reconcile', 'timeZone'];
const handoffKeys = ['dag', 'wait', 'params'];
const nightlyKeys = ['about', 'schedule', 'timeZone', 'pipelines', 'onSuccess', 'is'];

function checkKeys(from: Variables, file: string, given: object, keys: readonly string[]): void {
  for (const key of Object.keys(given).filter((key) => !keys.includes(key)))
    from.problem(`${file}: ${key}`, `is unknown${didYouMean(key, keys)}`);
}

const checkHandoff = (from: Variables, file: string, handoff: OnSuccess | undefined): void =>
  checkKeys(from, `${file}: onSuccess`, handoff ?? {}, handoffKeys);

function checkPipeline<C extends Configurable>(
  from: Variables,
  { file, options }: DefinedPipeline<C>,
  all: readonly DefinedPipeline<C>[],
): void {
  const { name, source } = options;
  checkKeys(from, file, options, pipelineKeys);
  checkKeys(from, `${file}: schedule`, options.schedule ?? {}, scheduleKeys);
  checkHandoff(from, file, options.onSuccess);
  const problem = (what: string) => from.problem(`${file}: name`, what);
  if (!/^[a-z][a-z0-9_-]{0,39}$/.test(name))
    problem(`“${name}” is not small letters, digits, - and _ (40 at most)`);
  if (name === nightlyName) problem('nightly is the run over all pipelines; take another');
  const first = all.find((each) => each.options.name === name);
  if (first?.options !== options) problem(`${first?.file} has a pipeline “${name}” already`);
  if (!isSource(source))
    from.problem(`${file}: source`, 'is no source; write for example source: jira({ … })');
}

function jobsOf<C extends Configurable>(
  { name, source: { connector }, schedule = {} }: PipelineOptions<C>,
  defaults: Defaults,
  nightly: Nightly,
): readonly Job[] {
  const { sync, full, reconcile = everySunday, timeZone = defaults.timeZone } = schedule;
  const isPart = sync === undefined && nightly.pipelines.includes(name);
  const within = isPart ? ({ within: nightlyName } as const) : {};
  const job = (does: Job['does'], cron: string | false | undefined, more = {}): readonly Job[] =>
    cron ? [{ does, on: { cron, timeZone }, ...more }] : [];
  return [
    ...(isPart ? nightly.jobs.map((each) => ({ ...each, ...within })) : job('sync', sync)),
    ...job('full', full),
    ...job('reconcile', connector.reconciles === true && reconcile, within),
  ];
}

function nightlyOf<C extends Configurable>(
  from: Variables,
  files: readonly PipelineFile<C>[],
  defaults: Defaults,
  all: readonly DefinedPipeline<C>[],
): Nightly {
  const [one, another] = files.filter(({ definition }) => definition.is === 'nightly');
  if (another !== undefined)
    from.problem(another.file, `there is a nightly in ${one?.file} already; keep one`);
  const options: NightlyOptions = one?.definition.is === 'nightly' ? one.definition : {};
  const { schedule = defaults.schedule, timeZone = defaults.timeZone, about, onSuccess } = options;
  const file = one?.file ?? '';
  checkKeys(from, file, options, nightlyKeys);
  checkHandoff(from, file, onSuccess);
  const names = all.map((each) => each.options.name);
  const without = all.filter((each) => each.options.schedule?.sync === undefined);
  const { pipelines = without.map((each) => each.options.name) } = options;
  for (const name of pipelines.filter((name) => !names.includes(name)))
    from.problem(`${file}: pipelines`, `there is no pipeline “${name}”${didYouMean(name, names)}`);
  return {
    name: nightlyName,
    about: about ?? 'Several pipelines, each with its reconcile where that is due, then the hand-off.',
    file: options.schedule === undefined ? 'TIDEMARK_SCHEDULE' : file,
    jobs: [{ does: 'sync', on: { cron: schedule, timeZone } }],
    pipelines,
    ...(onSuccess && { onSuccess }),
  };
}
