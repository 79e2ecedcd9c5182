import { expect, test } from 'vitest';
import { facts, table } from '../../../src/cli/table.ts';

const plain = { paint: (_: string, text: string) => text, columns: undefined };
const narrow = (columns: number) => ({ ...plain, columns });
const painted = {
  paint: (style: string, text: string) => `<${style}>${text}</${style}>`,
  columns: undefined,
};

test('numbers stand to the right with thousands separators, text to the left, nothing is a dash', () => {
  const lines = table(
    [{ title: 'NAME' }, { title: 'ROWS' }, { title: 'WHY' }],
    [
      ['issues', 1234567, null],
      ['漢字', 5, 'so'],
    ],
    plain,
  );
  expect(lines).toEqual(['NAME         ROWS  WHY', 'issues  1,234,567  –', '漢字            5  so']);
});

test('a cell of a source cannot break the table', () => {
  const [, row] = table([{ title: 'A' }, { title: 'B' }], [['x\ny\x1b[0m', 'b']], plain);
  expect(row).toBe('x\\ny\\x1b[0m  b');
});

test('on a narrow terminal flexible columns give way, the others never do', () => {
  const lines = table(
    [{ title: 'KEY' }, { title: 'WHY', flexible: true }],
    [['PROJ-1234567', 'a long explanation that does not fit']],
    narrow(30),
  );
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(30);
  expect(lines[1]).toMatch(/^PROJ-1234567 {2}a long.*…$/);
});

test('when it is piped nothing is cut', () => {
  const long = 'x'.repeat(500);
  expect(table([{ title: 'A', flexible: true }], [[long]], plain)[1]).toBe(long);
});

test('colour does not count as width', () => {
  const [, first, second] = table(
    [{ title: 'S' }, { title: 'T' }],
    [
      [{ text: 'ok', style: 'green' }, 'a'],
      ['failed', 'b'],
    ],
    painted,
  );
  expect(first).toBe('<green>ok</green>      a');
  expect(second).toBe('failed  b');
});

test('names and values are aligned', () => {
  expect(
    facts(
      [
        ['a', 1000],
        ['longer', 'x'],
      ],
      plain,
    ),
  ).toEqual(['a       1,000', 'longer  x']);
});
