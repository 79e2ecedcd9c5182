import { expect, test } from 'vitest';
import { sinkOn } from '../../../src/cli/terminal.ts';
import { clip, duration, escaped, plural, relative, width, withoutSecrets } from '../../../src/cli/text.ts';

test('text of a source cannot move the cursor, recolour, reorder or break a line', () => {
  expect(escaped('a\x1b[2Jb\nc\td\r')).toBe('a\\x1b[2Jb\\nc\\td\\r');
  expect(escaped('\u009b31mred')).toBe('\\x9b31mred');
  expect(escaped('user\u202egpj.exe')).toBe('user\\u202egpj.exe');
  expect(escaped('half \ud800 pair, whole 😀, \u2028, \ufeff')).toBe(
    'half \\ud800 pair, whole 😀, \\u2028, \\ufeff',
  );
  expect(escaped('Grüße 漢字')).toBe('Grüße 漢字');
});

test('width counts what a terminal shows: accents once, East Asian letters and emoji twice', () => {
  expect(width('abc')).toBe(3);
  expect(width('e\u0301')).toBe(1);
  expect(width('漢字')).toBe(4);
  expect(width('👩‍👩‍👧')).toBe(2);
});

test('a terminal of no width is one whose width is not known', () => {
  const terminal = (columns: number) => {
    const stream: NodeJS.WriteStream = Object.create(process.stderr, {
      isTTY: { value: true },
      columns: { value: columns },
      on: { value: () => stream },
    });
    return sinkOn(stream, { env: {}, noColor: true });
  };
  expect([0, 80].map((columns) => terminal(columns).columns)).toEqual([undefined, 80]);
});

test('clipped text is never wider than asked, and says that it was cut', () => {
  expect(clip('hello', 5)).toBe('hello');
  expect(clip('hello world', 8)).toBe('hello w…');
  expect(clip('漢字漢字', 6)).toBe('漢字…');
  for (let columns = 0; columns < 12; columns++)
    expect(width(clip('漢字 with 😀 and more', columns))).toBeLessThanOrEqual(columns);
});

test('durations and distances in time are short and exact enough', () => {
  expect([0.04, 0.84, 9.96, 41, 59.6, 401, 7500, 273_600].map(duration)).toEqual([
    '0.0 s',
    '0.8 s',
    '10 s',
    '41 s',
    '1 m',
    '6 m 41 s',
    '2 h 5 m',
    '3 d 4 h',
  ]);
  const now = new Date('2026-11-21T12:00:00Z');
  const at = (seconds: number) => relative(new Date(now.getTime() - seconds * 1000), now);
  expect([2, 42, 300, 7200, 864_000, -300].map(at)).toEqual([
    'just now',
    '42 s ago',
    '5 m ago',
    '2 h ago',
    '10 d ago',
    'in 5 m',
  ]);
  expect([1, 2].map((n) => plural(n, 'retry', 'retries'))).toEqual(['1 retry', '2 retries']);
});

test('a connection string in a message loses its credentials', () => {
  expect(withoutSecrets('cannot open postgres://ann:s3cr@t@db:5432/x now')).toBe(
    'cannot open postgres://***@db:5432/x now',
  );
});
