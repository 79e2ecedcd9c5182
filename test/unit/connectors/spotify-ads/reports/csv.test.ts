import { afterEach, describe, expect, test } from 'vitest';
import { csvRows } from '../../../../../src/connectors/spotify-ads/csv-rows.ts';
import { fieldsOf } from '../../../../../src/connectors/spotify-ads/metrics.ts';
import { asyncReports } from '../../../../../src/connectors/spotify-ads/reports/csv.ts';
import type { Reports } from '../../../../../src/connectors/spotify-ads/reports/request.ts';
import { Refused, Transient, UnexpectedContent } from '../../../../../src/core/errors.ts';
import type { ReportJob } from '../../../../../src/core/stream.ts';
import { byHeader } from '../../../../support/csv-line.ts';
import * as play from '../../../../support/misbehaving-server.ts';
import { csvFile, csvPlatform, given, ledger, march, openReports, type Script } from './csv-platform.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const header = 'DAY,CAMPAIGN_NAME,AD_SET_NAME,AD_NAME,SPEND,IMPRESSIONS_ON_SPOTIFY,CLICKS';
const row = '2025-03-01,Spring,Women,Audio,9007199254.740993,10,1';
const file = `${header}\n${row}\n`;
const ready = { status: 'READY', completed_at: '2025-03-01T00:01:00Z' };
const processing = { status: 'PROCESSING' };

const read = async (
  script: Partial<Script>,
  { job: first, ...more }: Partial<Reports> & { readonly job?: ReportJob } = {},
) => {
  const platform = await csvPlatform({ looks: [ready], files: [csvFile(file)], ...script });
  const { reports, notes, slept, close } = openReports(platform, more);
  closing.push(platform.close, close);
  const { job, log } = ledger(first);
  const all: { readonly record: unknown; readonly bytes: string; readonly id: string | undefined }[] = [];
  let fetched = -1;
  let failure: unknown;
  const reading = await asyncReports(reports).read?.(march, given(job), new AbortController().signal);
  try {
    let step = await reading?.pages.next();
    for (; step?.done === false; step = await reading?.pages.next())
      for (const record of step.value.records)
        all.push({ record, bytes: String(reading?.bytes(record, step.value)), id: reading?.id(record) });
    expect(step?.value).toMatchObject({ matched: true });
    if (step?.done === true) fetched = step.value.read;
  } catch (error) {
    failure = error;
  }
  const records = all.map(({ record }) => record);
  return { platform, log, notes, slept, records, all, fetched, failure };
};
const refusal = (message: string) => play.json({ messages: [message] }, {}, 400);
const accepted = play.json({ id: 'less' }, {}, 201);

const ofFile = (text: string | Buffer) => read({ files: [csvFile(text)] });

describe('a CSV report', () => {
  test('is requested in full, awaited, fetched and read', async () => {
    const { platform, log, slept, records, fetched, failure } = await read({
      looks: [processing, processing, ready],
    });
    expect(failure).toBeUndefined();
    const cells = row.split(',');
    expect(records.map(byHeader)).toEqual([
      Object.fromEntries(header.split(',').map((name, at) => [name, cells[at]])),
    ]);
    expect(fetched).toBe(1);
    const [body = {}] = platform.created();
    expect(body).toMatchObject({
      granularity: 'DAY',
      statuses: ['ACTIVE', 'COMPLETED', 'STOPPED', 'PAUSED', 'PENDING_APPROVAL', 'REJECTED'],
      report_start: '2025-03-01T00:00:00Z',
      // The platform's end is inclusive.
      report_end: '2025-03-03T00:00:00Z',
    });
    expect(body.name).toMatch(/^[A-Za-z0-9_-]{2,120}$/);
    expect(body.dimensions).toHaveLength(10);
    expect([...(body.metrics ?? [])].sort()).toEqual([...fieldsOf('csv')].sort());
    expect(platform.calls()).toEqual(['create', 'look report-0', 'look report-0', 'look report-0']);
    expect(slept).toEqual([2000, 3000]);
    expect(log).toEqual([
      expect.stringMatching(/^creating: DAY 2025-03-01 to 2025-03-03/),
      'submitted report-0',
      'ready',
    ]);
  });

  test('R4: is fetched from another host without our token and without our name', async () => {
    const { platform, failure } = await read({});
    expect(failure).toBeUndefined();
    expect(
      platform.api.requests.every(({ headers }) => headers.authorization === 'Bearer s3cret-token'),
    ).toBe(true);
    const [asked] = platform.storage.requests;
    const names = ['accept', 'accept-encoding', 'connection', 'host'];
    expect(Object.keys(asked?.headers ?? {}).sort()).toEqual(names);
    expect(JSON.stringify([asked?.headers, asked?.url])).not.toContain('s3cret');
  });

  test('R4: on a host that is not configured is not fetched', async () => {
    const { platform, failure } = await read({}, { hosts: ['storage.googleapis.com'] });
    expect(failure).toMatchObject({ code: 'foreign_origin' });
    expect(platform.storage.connections()).toBe(0);
  });
});

describe('the ledger of report jobs', () => {
  const submittedAt = new Date('2025-03-10T02:00:00Z');
  const submitted: ReportJob = { id: 'old-1', status: 'submitted', submittedAt };

  test.each(['submitted', 'ready'] as const)(
    'a job that was %s before a crash is adopted, not created again',
    async (status) => {
      const { platform, records, log } = await read(
        { looks: [processing, ready] },
        { job: { ...submitted, status } },
      );
      expect(platform.calls()).toEqual(['look old-1', 'look old-1']);
      expect(records).toHaveLength(1);
      expect(log).toEqual(['ready']);
    },
  );

  test.each(['creating', 'failed', 'expired', 'abandoned'] as const)(
    'one that is known as %s is followed by another',
    async (status) => {
      const job = status === 'creating' ? { ...submitted, id: undefined, status } : { ...submitted, status };
      const { platform, records } = await read({}, { job });
      expect(platform.calls()).toEqual(['create', 'look report-0']);
      expect(records).toHaveLength(1);
    },
  );

  test('one that is days old is not adopted: its numbers are of then', async () => {
    const old = { ...submitted, submittedAt: new Date('2025-03-01T00:00:00Z') };
    const { platform, log } = await read({}, { job: old });
    expect(platform.calls()).toEqual(['create', 'look report-0']);
    expect(log[0]).toBe('abandoned: too old: its numbers are of then');
  });
});

describe('R1: a report that comes to nothing', () => {
  test.each([
    ['FAILED', { status: 'FAILED' }, 'failed'],
    ['EXPIRED', { status: 'EXPIRED' }, 'expired'],
    ['unknown to the platform', play.json({ messages: ['no'] }, {}, 404), 'abandoned'],
  ])('%s: another one is created', async (_, look, state) => {
    const { platform, records, log } = await read({ looks: [processing, look, ready] });
    expect(platform.calls()).toEqual(['create', 'look report-0', 'look report-0', 'create', 'look report-1']);
    expect(records).toHaveLength(1);
    const states = ['creating', 'submitted', state, 'creating', 'submitted', 'ready'];
    expect(log.map((line) => line.split(/[: ]/)[0])).toEqual(states);
  });

  test('time and again: the slice fails after three', async () => {
    const { platform, records, failure } = await read({ looks: [{ status: 'FAILED' }] });
    expect(failure).toBeInstanceOf(Transient);
    expect(String(failure)).toContain('3 reports in a row came to nothing');
    expect(platform.created()).toHaveLength(3);
    expect(records).toEqual([]);
    expect(platform.storage.connections()).toBe(0);
  });

  test.each([
    ['is empty', csvFile('')],
    ['has not what was asked for', csvFile('DAY,NAME\n2025-03-01,Spring\n')],
    ['is a page', play.bytes('page', '<h1>Gone</h1>', { 'content-type': 'text/html' })],
  ])('one whose file %s fails the slice, and the next run creates another', async (_, first) => {
    const { log, failure } = await read({ files: [first] });
    expect(failure).toBeInstanceOf(UnexpectedContent);
    expect(log.at(-1)).toMatch(/^failed/);
  });

  test.each([
    ['in an unknown state is waited for', [{ status: 'SIMMERING' }, { status: 'SIMMERING' }, ready]],
    ['that is ready without an address gets it a moment later', [{ ...ready, report_url: null }, ready]],
  ])('one %s', async (_, looks) => {
    const { platform, records } = await read({ looks });
    expect(platform.calls()).toEqual(['create', ...looks.map(() => 'look report-0')]);
    expect(records).toHaveLength(1);
  });
});

describe('R2: a report that is never done', () => {
  test('is left at the deadline after growing waits; it stays submitted, and the next run adopts it', async () => {
    const { platform, log, slept, failure } = await read({ looks: [processing] });
    expect(failure).toBeInstanceOf(Transient);
    expect(String(failure)).toContain('not ready after 30 minutes');
    expect(platform.created()).toHaveLength(1);
    expect(log.at(-1)).toBe('submitted report-0');
    expect(slept.slice(0, 4)).toEqual([2000, 3000, 4500, 6750]);
    expect(Math.max(...slept)).toBe(60_000);
    expect(slept.reduce((sum, ms) => sum + ms)).toBe(30 * 60_000);
    expect(platform.calls().length).toBeLessThan(60);
  });
});

describe('the creation of a report', () => {
  test('that is not confirmed is not sent again by itself, but as another attempt', async () => {
    const { platform, records, log } = await read({
      creations: [play.status(502), play.json({ id: 'second' }, {}, 201)],
    });
    expect(platform.calls()).toEqual(['create', 'create', 'look second']);
    expect(log.map((line) => line.split(/[: ]/)[0])).toEqual(['creating', 'creating', 'submitted', 'ready']);
    expect(records).toHaveLength(1);
  });

  test('that is never confirmed ends after three attempts', async () => {
    const { platform, failure } = await read({ creations: [play.reset] });
    expect(failure).toBeInstanceOf(Transient);
    expect(platform.api.fired).toEqual(['reset', 'reset', 'reset']);
  });

  const metrics = fieldsOf('csv');
  const without = (...left: readonly string[]): readonly string[] =>
    metrics.filter((name) => !left.includes(name));
  const clipped = (text: string): string => `${text.slice(0, 299)}…`;
  const enumeration = (name: string, all: readonly string[]): string =>
    `Cannot deserialize value from String "${name}": not one of the values accepted for Enum class: [${all.join(', ')}]`;

  const without2 = without('REACH', 'CPM');
  const without1 = without('SKAD_APP_INSTALLS');
  const whole = enumeration('SKAD_APP_INSTALLS', without1.toSorted());
  test.each<[string, readonly string[], readonly string[]]>([
    ['by its name', ['metrics: AD_COMPLETES is not known'], without('AD_COMPLETES')],
    ['before the whole list', [whole], without1],
    ['before a list that was cut off', [clipped(whole)], without1],
    ['one after the other', ['REACH', 'CPM'].map((name) => enumeration(name, without2)), without2],
    ['by the whole list alone', [`metrics: each must be one of ${without2.join(' | ')}`], without2],
    ['with what it does not go with', ['CPM is not possible with SPEND'], without('CPM')],
  ])(
    'that is refused for a metric, named %s, is made without that one, which is noted',
    async (_, refusals, asked) => {
      const creations = [...refusals.map(refusal), accepted];
      const { platform, records, notes, failure } = await read({ creations });
      expect(failure).toBeUndefined();
      expect([...(platform.created().at(-1)?.metrics ?? [])].toSorted()).toEqual(asked.toSorted());
      expect(platform.created()).toHaveLength(refusals.length + 1);
      expect(records).toHaveLength(1);
      for (const name of metrics.filter((one) => !asked.includes(one)))
        expect(notes.join()).toMatch(new RegExp(`the server does not know [A-Z_, ]*\\b${name}\\b`));
    },
  );

  const allStatuses = ['ACTIVE', 'COMPLETED', 'STOPPED', 'PAUSED', 'PENDING_APPROVAL', 'REJECTED'];
  const ofAds = ['ACTIVE', 'PENDING_APPROVAL', 'REJECTED'];
  test.each([
    ['COMPLETED is not valid; allowed: ACTIVE, PENDING_APPROVAL, REJECTED', ['COMPLETED']],
    ['PAUSED is not valid; allowed: ACTIVE', ['PAUSED']],
    ['only valid ones are ACTIVE, PENDING_APPROVAL and REJECTED', ['COMPLETED', 'STOPPED', 'PAUSED']],
  ])('that is refused for a status keeps the valid ones: %s', async (message, refused) => {
    const { platform, failure } = await read({ creations: [refusal(`statuses: ${message}`), accepted] });
    expect(failure).toBeUndefined();
    expect(platform.created().at(-1)?.statuses).toEqual(allStatuses.filter((one) => !refused.includes(one)));
  });

  test.each([
    'metrics: SPEND is not known',
    'metrics: REACH, SPEND are not known',
    'metrics: SPEND, CLICKS are not valid',
    'statuses: ACTIVE is not valid',
    'statuses: ACTIVE, PAUSED are not known',
    clipped(`allowed are ${without('SPEND').toSorted().join(', ')}`),
  ])('that is refused for what no row can do without fails the slice: %s', async (message) => {
    const { platform, failure } = await read({ creations: [refusal(message)] });
    expect(failure).toBeInstanceOf(Refused);
    for (const { metrics: asked, statuses } of platform.created()) {
      expect(asked).toEqual(expect.arrayContaining(['SPEND', 'CLICKS', 'IMPRESSIONS_ON_SPOTIFY']));
      expect(statuses).toContain('ACTIVE');
    }
  });

  test.each([
    'One or more statuses are not valid for the primary entity of the report',
    'Invalid status: completed, stopped, paused',
  ])(
    'that is refused for statuses without naming one is requested with those of ads: %s',
    async (message) => {
      const { platform, notes, records, failure } = await read({ creations: [refusal(message), accepted] });
      expect(failure).toBeUndefined();
      expect(records).toHaveLength(1);
      expect(notes).toContainEqual(expect.stringContaining('with ACTIVE, PENDING_APPROVAL, REJECTED alone'));
      expect(platform.created().map(({ statuses }) => statuses)).toEqual([allStatuses, ofAds]);
      const never = await read({ creations: [refusal(message)] });
      expect(never.failure).toBeInstanceOf(Refused);
      expect(never.platform.created()).toHaveLength(2);
    },
  );

  test('that is refused for anything else fails the slice', async () => {
    const { platform, log, failure } = await read({ creations: [refusal('too many reports')] });
    expect(failure).toBeInstanceOf(Refused);
    expect(log.at(-1)).toContain('failed: ');
    expect(platform.created()).toHaveLength(1);
  });

  test('that names no report fails the slice', async () => {
    const { failure, platform } = await read({ creations: [play.json({ ok: true }, {}, 201)] });
    expect(failure).toBeInstanceOf(UnexpectedContent);
    expect(platform.created()).toHaveLength(1);
  });
});

describe('R3: an address that has expired', () => {
  test('is asked for again, of the same report', async () => {
    const { platform, records } = await read({ files: [play.status(403), play.status(404), csvFile(file)] });
    expect(platform.calls()).toEqual(['create', 'look report-0', 'look report-0', 'look report-0']);
    const addresses = platform.storage.requests.map(({ url }) => url);
    expect(addresses).toEqual([0, 1, 2].map((n) => `/r${n}.csv?sig=x`));
    expect(records).toHaveLength(1);
  });

  test('whose report expired with it fails the slice, and the next run creates another', async () => {
    const { log, failure } = await read({ looks: [ready, { status: 'EXPIRED' }], files: [play.status(403)] });
    expect(failure).toBeInstanceOf(Transient);
    expect(log.at(-1)).toContain('expired');
  });
});

describe('R6 and R7: what stands in a report', () => {
  test('columns are found by name, in any order, case and spelling; added ones come along', async () => {
    const { records, failure } = await ofFile(
      '\ufeffClicks,Brand New,Ad Name,ad_set_name,Campaign Name,Spend,Impressions on Spotify,Date\r\n1,x,A,"S, 1",C,0.5,10,2025-03-02\r\n',
    );
    expect(failure).toBeUndefined();
    const { row } = csvRows.transform(records[0], march);
    expect(row).toMatchObject({
      day: '2025-03-02',
      campaign_name: 'C',
      ad_set_name: 'S, 1',
      ad_name: 'A',
      spend: '0.500000',
    });
  });

  test('what was requested and did not come is noted', async () => {
    const { notes } = await ofFile(file);
    expect(notes).toEqual([expect.stringContaining('not in the report: ')]);
    expect(notes[0]).toContain('AD_ACCOUNT_NAME');
    expect(notes[0]).not.toMatch(/\bSPEND\b/);
  });

  test.each([
    ['a required column is removed', file.replace('SPEND,', ''), 'has no SPEND'],
    ['a required column is renamed', file.replace('CAMPAIGN_NAME', 'KAMPAGNE'), 'has no CAMPAIGN_NAME'],
    ['no column tells the day', file.replace('DAY', 'WHEN'), 'has no column for the day'],
    ['two columns tell the day', file.replace('SPEND', 'DATE'), 'two columns for day'],
    ['two columns tell a metric', file.replace('AD_NAME', 'IMPRESSIONS'), 'two columns for impressions'],
    ['a header stands twice', file.replace('CLICKS', 'spend'), 'two columns'],
    ['an unknown header stands twice', `x Y,${header},X_Y\n`, 'two columns'],
    ['a column has no name', `${header}, \n`, 'no name'],
    ['it is UTF-16', Buffer.from(`\ufeff${file}`, 'utf16le'), 'UTF-16'],
    ['it is Latin-1', Buffer.from(file.replace('Spring', 'Frühling'), 'latin1'), 'not valid UTF-8'],
    ['it holds a NUL', file.replace('Spring', 'Spr\0ing'), 'NUL'],
    ['it is empty', '', 'empty'],
    ['it breaks off in its last line', `${file}2025-03-02,Spring,Wom`, 'breaks off'],
    ['it breaks off in a name that begins like a total', `${file}Total`, 'breaks off'],
    ['a quote is never closed', `${file}"2025-03-02,Spring\n`, 'never closed'],
  ])('the slice fails, with its class, where %s', async (_, text, message) => {
    const { failure, platform } = await ofFile(text);
    expect(failure).toBeInstanceOf(UnexpectedContent);
    expect(String(failure)).toContain(message);
    expect(platform.storage.fired).toEqual(['file']);
  });
});

describe('R8: lines that are no rows', () => {
  test('a ragged one goes to the rejects with its exact bytes, its values under no name', async () => {
    const ragged = ['2025-03-01,Spring,Women,5', `${row},too,many`, '2025-03-01,"a "b" c",W,A,1,2,3'];
    const { records, all, fetched } = await ofFile(`${header}\n${row}\n${ragged.join('\n')}\n${row}\n`);
    expect(fetched).toBe(5);
    expect(all.map(({ bytes }) => bytes)).toEqual([row, ...ragged, row]);
    const name = '2025-03-01/Spring/Women/Audio';
    expect(all.map(({ id }) => id)).toEqual([name, '', '', '', name]);
    for (const record of records.slice(1, 4))
      expect(() => csvRows.transform(record, march)).toThrow(expect.objectContaining({ code: 'ragged_row' }));
    expect(csvRows.transform(records[4], march).row).toMatchObject({ spend: '9007199254.740993' });
  });

  test.each(['', 'Total'])('a row with %j for its day is rejected, not left out', async (day) => {
    const { records } = await ofFile(`${file}${day},Spring,Women,Audio,1,1,1\n`);
    expect(records).toHaveLength(2);
    expect(() => csvRows.transform(records[1], march)).toThrow('day');
  });

  const on = (...days: readonly string[]) =>
    `${header}\n${days.map((day) => row.replace('2025-03-01', day)).join('\n')}\n`;
  test('rows of days that were not requested are left out, with a note; a report of nothing else fails', async () => {
    const some = on('2025-03-01', '2025-02-28', '2025-03-04', '2025-03-04T00:00:00Z', '2025-03-03');
    const { records, notes } = await ofFile(some);
    expect(records.map((one) => byHeader(one).DAY)).toEqual(['2025-03-01', '2025-03-03']);
    expect(notes.at(-1)).toContain('3 rows are of days outside 2025-03-01 to 2025-03-04');
    const { failure } = await ofFile(on('2025-02-27', '2025-02-28'));
    expect(failure).toBeInstanceOf(UnexpectedContent);
    expect(String(failure)).toContain('2 rows, none of 2025-03-01 to 2025-03-04');
  });

  test('empty lines are nothing', async () => {
    const { all } = await ofFile(`${header}\n\n${row}\n\n${row}\n\n`);
    expect(all.map(({ bytes }) => bytes)).toEqual([row, row]);
  });
});

test('a file that breaks off while it is fetched is fetched again, and no row comes twice', async () => {
  const many = `${header}\n${Array.from({ length: 30_000 }, (_, n) => `2025-03-02,C,S,Ad ${n},1,1,1`).join('\n')}\n`;
  const type = { 'content-type': 'text/csv' };
  const { records, platform } = await read({
    files: [play.cutAt(many, 700_000, type), play.cutAt(many, 400_000, type), csvFile(many)],
  });
  expect(platform.storage.fired).toEqual(['cut', 'cut', 'file']);
  expect(new Set(records.map((one) => byHeader(one).AD_NAME)).size).toBe(30_000);
  expect(records).toHaveLength(30_000);
});
