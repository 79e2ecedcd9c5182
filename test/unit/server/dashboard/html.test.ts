import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quantile } from '../../../../src/server/dashboard/figures/numbers.ts';
import { data, html, lines } from '../../../../src/server/dashboard/html.ts';
import { nextOf } from '../../../../src/server/dashboard/pages/message.ts';
import { indented } from '../../../../src/server/dashboard/pages/rejects.ts';

test('whatever text is put into a template stays text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { text: made } = html`<p title="${text}">${[text, html`<b>${text}</b>`]}</p>`;
      return /^<p title="[^"<>]*">[^<>]*<b>[^<>]*<\/b><\/p>$/.test(made);
    }),
  );
});

test('control characters and marks that reorder text are written out', () => {
  expect(html`${'a\u0000b\u001b[31m\u202ec\ud800'}`.text).toBe('a\\x00b\\x1b[31m\\u202ec\\ud800');
  expect(lines('a\r\nb\tc\u0007').text).toBe('a\nb\tc\\x07');
});

test('null, undefined and false are nothing, zero is a number', () => {
  expect(html`${null}${undefined}${false}${0}`.text).toBe('0');
});

test('data in an attribute comes back as it went in', () => {
  const given = { quote: `"'<&>`, list: [1, null] };
  const back = data(given)
    .text.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  expect(JSON.parse(back)).toEqual(given);
});

test('a record is indented without changing what it says, numbers beyond 2^53 included', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(JSON.parse(indented(text))).toEqual(JSON.parse(text));
    }),
  );
  expect(indented('{"a":[1,{}],"b":9007199254740993}')).toBe(
    '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": 9007199254740993\n}',
  );
});

test('what is no whole JSON is shown as it came', () => {
  for (const text of ['{"a":', '[1,2', '{"a":"b', 'plain text', '']) expect(indented(text)).toBe(text);
});

test('after signing in one lands on a page of ours only', () => {
  for (const bad of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/login',
    'x',
    '/a b',
    undefined,
    '',
  ])
    expect(nextOf(bad)).toBe('/');
  expect(nextOf('/runs?pipeline=tracker')).toBe('/runs?pipeline=tracker');
});

test('a quantile lies between the values next to it', () => {
  expect(quantile([], 0.5)).toBeUndefined();
  expect(quantile([3], 0.95)).toBe(3);
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([10, 20, 30], 0.95)).toBeCloseTo(29);
});
