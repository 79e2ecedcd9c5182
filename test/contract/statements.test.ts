import pg from 'pg';
import { beforeAll, expect, test, vi } from 'vitest';
import { replayRejects } from '../../src/engine/replay.ts';
import { mostOfFew } from '../../src/engine/sync/cut.ts';
import { enqueueHandoff, enqueueMissedHandoff } from '../../src/outbound/handoff-queue.ts';
import { findings } from '../../src/outbound/health.ts';
import { dailyStatus } from '../../src/queries/daily-status.ts';
import { streamStates } from '../../src/queries/freshness.ts';
import { lineage } from '../../src/queries/lineage.ts';
import { countRejects, rejects } from '../../src/queries/reject-list.ts';
import { run, runs } from '../../src/queries/run-history.ts';
import { receipts, rowCount } from '../../src/queries/stream-history.ts';
import { budgetsOf } from '../../src/warehouse/budgets.ts';
import { openAdsRig } from '../support/ads-rig.ts';
import { testDatabase } from '../support/postgres.ts';
import { openRig, readListsOfSprints } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';
import { type Kind, type Member, type Statement, typedStatements } from '../support/statements.ts';
import { openApi, read } from '../unit/server/api/api.ts';
import { openTestControl } from '../unit/server/dashboard/control.ts';

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** An answer of the server: its columns, and those that were null in a row. */
interface Answer {
  readonly text: string;
  readonly fields: readonly Field[];
  readonly nulls: readonly string[];
}

const statements = typedStatements();
const answers: Answer[] = [];

/** What pg gives for each type; of JSON, anything but dates and bytes. */
const oids = pg.types.builtins;
const anyJson: readonly Kind[] = ['string', 'number', 'boolean', 'array', 'object'];
const kinds = new Map<number, readonly Kind[]>([
  ...[oids.INT8, oids.NUMERIC, oids.TEXT, oids.DATE, oids.TIMESTAMP, oids.INTERVAL, 19].map(
    (oid) => [oid, ['string']] as const,
  ),
  ...[oids.INT2, oids.INT4, oids.FLOAT8, oids.OID].map((oid) => [oid, ['number']] as const),
  ...[oids.JSON, oids.JSONB].map((oid) => [oid, anyJson] as const),
  [oids.BOOL, ['boolean']],
  [oids.BYTEA, ['Buffer']],
  [oids.TIMESTAMPTZ, ['Date']],
  // boolean[], text[], bigint[], jsonb[]
  ...[1000, 1009, 1016, 3807].map((oid) => [oid, ['array']] as const),
]);

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** What an answer has otherwise than the type of its row says. */
function faultsOf(statement: Statement, { fields, nulls }: Omit<Answer, 'text'>): readonly string[] {
  const { name, row = new Map<string, Member>(), others, isOpen, isCamelCase } = statement;
  const memberOf = (column: string): string => (isCamelCase ? camelCase(column) : column);
  const missing = [...row.keys()].filter(
    (member) => !fields.some((field) => memberOf(field.name) === member),
  );
  const wrong = fields.flatMap((field): readonly string[] => {
    const column = memberOf(field.name);
    const said = row.get(column) ?? others;
    if (said === undefined) return isOpen ? [] : [`${name} does not name the column ${column}`];
    const given = kinds.get(field.dataTypeID) ?? [];
    const fits = said.kinds.includes('unknown') || said.kinds.some((kind) => given.includes(kind));
    const isNull = !said.isNullable && nulls.includes(field.name);
    return [
      ...(fits ? [] : [`${name}: ${column} is ${given.join(' or ') || `of type ${field.dataTypeID}`}`]),
      ...(isNull ? [`${name}: ${column} was null`] : []),
    ];
  });
  return [...missing.map((member) => `${name}: there is no column ${member}`), ...wrong];
}

/** Asks the server for the columns of a statement without running it. */
function describe(client: pg.Client, text: string): Promise<readonly Field[]> {
  return new Promise((resolve, reject) => {
    let fields: readonly Field[] = [];
    let failure: Error | undefined;
    const query = {
      submit(connection: pg.Connection) {
        connection.parse({ name: '', text, types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleRowDescription: (message: { fields: readonly Field[] }) => {
        fields = message.fields;
      },
      handleError: (error: Error) => {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: () => (failure === undefined ? resolve(fields) : undefined),
    };
    client.query(query);
  });
}

/** Notes what the server answers to every connection of this process. */
function record() {
  const ask = pg.Client.prototype.query;
  const note = <T>(text: unknown, result: T): T => {
    if (typeof text !== 'string' || !(result instanceof pg.Result)) return result;
    const { fields, rows } = result;
    const isNull = ({ name }: Field) => rows.some((row) => !Array.isArray(row) && row?.[name] === null);
    answers.push({ text, fields, nulls: fields.filter(isNull).map(({ name }) => name) });
    return result;
  };
  return vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...all: unknown[]
  ) {
    const [text] = all;
    const done = all.at(-1);
    const noting = (error: unknown, result: unknown) =>
      typeof done === 'function' && done(error, note(text, result));
    const asked: unknown = Reflect.apply(
      ask,
      this,
      typeof done === 'function' ? [...all.slice(0, -1), noting] : all,
    );
    return asked instanceof Promise ? asked.then((result) => note(text, result)) : asked;
  });
}

/** Runs of two sources, a worker, the API, and questions about all of them. */
async function everything(): Promise<void> {
  const rig = await openRig(smallSite);
  const { db } = rig.database.warehouse;
  const testControl = await openTestControl(rig);
  const { control, idle } = testControl;
  await control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  await idle();
  await rig.sync();
  await rig.reconcile();
  await rig.backfill({ from: new Date('2026-01-01'), to: new Date('2026-02-01') });
  await rig.during((deps) => replayRejects(deps, {}));
  const [request] = await control.history('tracker', { limit: 10 });
  await control.log('tracker', request?.runId ?? '', {});
  const api = await openApi(rig.database);
  const scraped = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${read}` } });
  expect(scraped.status).toBe(200);
  await runs(db, { limit: 10 });
  await run(db, '1');
  await rejects(db, { limit: 10 });
  await countRejects(db, { isCut: true });
  await streamStates(db);
  await rowCount(db, { schema: 'tracker', name: 'issues' }, 'tracker', true);
  await receipts(db, 'tracker', 'issues', 10);
  await dailyStatus(db, new Date(0));
  const [issue] = await rig.rows<{ key: string }>('select key from tracker.issues limit 1');
  await lineage(db, { schema: 'tracker', name: 'issues' }, issue?.key ?? '');
  await budgetsOf(db).take('limit', 1, { perSecond: 1, burst: 1 });
  await findings(db, ['tracker']);
  await enqueueHandoff(db, { pipeline: 'tracker', runKey: '1' }, { dag: 'report' });
  await enqueueMissedHandoff(db, 'tracker', { dag: 'report' });
  await api.close();
  await testControl.close();
  await rig.close();
  await sprintEnds();
  await sliceIsCut();
  const ads = await openAdsRig();
  await ads.sync();
  await ads.sync();
  await ads.close();
}

/** A sprint whose issues are read from its own list is deleted at the source. */
async function sprintEnds(): Promise<void> {
  const rig = await openRig({ ...smallSite, dialect: 'vendor' });
  readListsOfSprints(rig);
  const { state, clock, oracle } = rig.tracker;
  const planned = state.addSprint(oracle().boards[0]?.id ?? 0, { name: 'Planned' });
  await rig.sync();
  state.deleteSprint(planned.id);
  clock.advance(86_400_000);
  await rig.sync();
  await rig.close();
}

/** More issues come than a slice holds. */
async function sliceIsCut(): Promise<void> {
  const rig = await openRig({ ...smallSite, issues: mostOfFew + 1, history: 0, dialect: 'contract' });
  await rig.sync({ streams: ['issues'] });
  await rig.close();
}

/** Whether a text that ran is this statement: its parts in their order, from the first word to the last. */
function isOf({ parts }: Statement, text: string): boolean {
  if (parts === undefined) return false;
  const [first = ''] = parts;
  const last = parts.at(-1) ?? '';
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}

beforeAll(async () => {
  const recorder = record();
  await everything().finally(() => recorder.mockRestore());
});

const ran = (statement: Statement): boolean => answers.some(({ text }) => isOf(statement, text));

test('each statement gives the columns that the type of its rows names', async () => {
  expect(statements.length).toBeGreaterThan(80);
  const database = await testDatabase();
  const client = new pg.Client(database.url);
  await client.connect();
  const faults: string[] = [];
  for (const statement of statements.filter(({ row }) => row !== undefined))
    for (const answer of answers.filter(({ text }) => isOf(statement, text)))
      faults.push(...faultsOf(statement, answer));
  for (const statement of statements.filter((each) => each.isWhole && !ran(each))) {
    const text = statement.parts?.reduce((before, part, at) => `${before}$${at}${part}`) ?? '';
    const fields = await describe(client, text).catch((error: Error) => error);
    if (fields instanceof Error) faults.push(`${statement.name}: ${fields.message}`);
    else faults.push(...faultsOf(statement, { fields, nulls: [] }));
  }
  await client.end();
  await database.drop();
  expect([...new Set(faults)]).toEqual([]);
});

/** Statements that are neither whole nor run here, and why. */
const unchecked: Readonly<Record<string, string>> = {
  'src/bi/parquet.ts (string | null)[]': 'rows of any view, each a list of texts',
  'src/engine/stream-run.ts WrittenCounts': 'the statements of a connector that the end of a stream runs',
  'src/queries/comparison.ts Difference': 'a condition of the user: test/unit/cli/compare.test.ts',
  'src/scheduler/queue.ts { data: QueueTask; pauseMs: number }':
    'jobs of an older queue: test/unit/scheduler/queue.test.ts',
};

test('statements that are put together when they run do run here, or are named with the reason', () => {
  const missing = statements.filter((each) => each.row === undefined || (!each.isWhole && !ran(each)));
  expect(missing.map(({ name }) => name)).toEqual(Object.keys(unchecked));
});

test('a wrong type, a column too many, one too few and a null are found', () => {
  const member = (kind: Kind): Member => ({ kinds: [kind], isNullable: false });
  const row = new Map([
    ['runId', member('string')],
    ['seconds', member('number')],
    ['endedAt', member('Date')],
  ]);
  const statement = {
    name: 'Row',
    parts: [],
    isWhole: true,
    isCamelCase: true,
    row,
    others: undefined,
    isOpen: false,
  };
  const fields = [
    { name: 'run_id', dataTypeID: oids.INT8 },
    { name: 'seconds', dataTypeID: oids.NUMERIC },
    { name: 'status', dataTypeID: oids.TEXT },
  ];
  expect(faultsOf(statement, { fields, nulls: ['run_id'] })).toEqual([
    'Row: there is no column endedAt',
    'Row: runId was null',
    'Row: seconds is string',
    'Row does not name the column status',
  ]);
});
