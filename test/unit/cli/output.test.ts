import { expect, test } from 'vitest';
import { openSink } from '../../../src/cli/context.ts';
import { grid, linesOf } from '../../../src/cli/output.ts';
import { duration, escaped, plural, relative, withoutSecrets } from '../../../src/core/format.ts';

const plain = { paint: (_: string, text: string) => text, columns: undefined };

test('numbers are aligned to the right with thousands separators, and nothing is a dash', () => {
  const rows = [
    ['issues', 1234567, null],
    ['漢字', 5, 'so'],
  ];
  expect(grid(['NAME', 'ROWS', 'REST'], rows, plain)).toEqual([
    'NAME         ROWS  REST',
    'issues  1,234,567  –',
    '漢字            5  so',
  ]);
});

test('the key of a value decides how it is shown', () => {
  const receipt = { expected: null, read: 5, stored: 5 };
  const counts = { received: 5, inserted: 2, unchanged: 3 };
  const row = { runId: '7', seconds: 401, receipt, counts, error: null };
  const keys = 'runId seconds receipt counts error';
  expect(linesOf({ rows: [row], keys }, plain)).toEqual([
    '',
    'RUN  DURATION  RECEIPT                         RECORDS                             ERROR',
    '  7  6 m 41 s  expected – · read 5 · stored 5  5 records: 2 new, 3 already stored',
  ]);
  const fields = { watermark: new Date('2026-03-01T02:00:00Z'), openRejects: 1000 };
  expect(linesOf({ fields, keys: 'watermark openRejects' }, plain)).toEqual([
    'watermark     2026-03-01 02:00 UTC',
    'open rejects  1,000',
  ]);
});

test('text of a source cannot break a table, move the cursor, recolour or reorder', () => {
  expect(grid(['A', 'B'], [['x\ny\x1b[0m', 'b']], plain)[1]).toBe('x\\ny\\x1b[0m  b');
  expect(escaped('\u009b31mred, user\u202egpj.exe')).toBe('\\x9b31mred, user\\u202egpj.exe');
  const half = escaped('half \ud800 pair, whole 😀, \u2028, \ufeff, Grüße 漢字');
  expect(half).toBe('half \\ud800 pair, whole 😀, \\u2028, \\ufeff, Grüße 漢字');
});

test('on a narrow terminal long columns are cut first; a pipe cuts nothing', () => {
  const rows = [['PROJ-1234567', 'a long explanation that does not fit']];
  const lines = grid(['KEY', 'WHY…'], rows, { ...plain, columns: 30 });
  expect(lines.filter((line) => line.length > 30)).toEqual([]);
  expect(lines[1]).toMatch(/^PROJ-1234567 {2}a long.*…$/);
  expect(grid(['A…'], [['x'.repeat(500)]], plain)[1]).toBe('x'.repeat(500));
});

test('a table fits the terminal: the widest columns give way, numbers and narrow ones never', () => {
  const rows = [
    [
      'tracker.issues',
      'fresh',
      1234567,
      'expected 5,000 · read 5,000 · stored 5,000',
      '漢字漢字漢字漢字漢字',
    ],
    ['ads.insight_reports', 'stale', 12, 'expected – · read 5 · stored 5', 'short'],
  ];
  for (const columns of [100, 80, 60, 50]) {
    const lines = grid(['PIPELINE', 'STATE', 'ROWS', 'RECEIPT', 'WHY…'], rows, { ...plain, columns });
    const wide = lines.map((line) => line.replace(/[漢字]/g, 'xx').length);
    expect({ columns, most: Math.max(...wide) <= columns }).toEqual({ columns, most: true });
    expect(lines[1]).toContain('1,234,567');
    expect(lines[1]).toContain('fresh');
  }
  // Where even that is not enough, no column loses all of its text.
  const [, line] = grid(['PIPELINE', 'STATE', 'ROWS', 'RECEIPT', 'WHY…'], rows, { ...plain, columns: 10 });
  expect(line).toMatch(/^tracker… {2}fresh {2}1,234,567 {2}expecte… {2}/);
});

test('colour does not count as width', () => {
  const colored = { paint: (_: string, text: string) => `\x1b[32m${text}\x1b[39m`, columns: undefined };
  const rows = [
    [{ text: 'ok', style: 'green' as const }, 'a'],
    ['failed', 'b'],
  ];
  expect(grid(['S', 'T'], rows, colored).slice(1)).toEqual(['\x1b[32mok\x1b[39m      a', 'failed  b']);
});

test('a terminal of no width is one whose width is not known', () => {
  const terminal = (columns: number) => {
    const stream: NodeJS.WriteStream = Object.create(process.stderr, {
      isTTY: { value: true },
      columns: { value: columns },
      on: { value: () => stream },
    });
    return openSink(stream, { env: {}, noColor: true });
  };
  expect([0, 80].map((columns) => terminal(columns).columns)).toEqual([undefined, 80]);
});

test('durations, distances in time and counts are short', () => {
  expect([0.04, 0.84, 9.96, 41, 59.6, 401, 7500, 273_600].map(duration)).toEqual(
    '0.0 s,0.8 s,10 s,41 s,1 m,6 m 41 s,2 h 5 m,3 d 4 h'.split(','),
  );
  const now = new Date('2026-11-21T12:00:00Z');
  const at = (seconds: number) => relative(new Date(now.getTime() - seconds * 1000), now);
  expect([2, 42, 300, 7200, 864_000, -300].map(at)).toEqual(
    'just now,42 s ago,5 m ago,2 h ago,10 d ago,in 5 m'.split(','),
  );
  expect([1, 2].map((n) => plural(n, 'retry', 'retries'))).toEqual(['1 retry', '2 retries']);
});

test('a connection string in a message loses its credentials', () => {
  expect(withoutSecrets('cannot open postgres://ann:s3cr@t@db:5432/x now')).toBe(
    'cannot open postgres://***@db:5432/x now',
  );
});
