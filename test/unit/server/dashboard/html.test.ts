import fc from 'fast-check';
import { expect, test } from 'vitest';
import { html, lines } from '../../../../src/server/dashboard/html.ts';
import { indented } from '../../../../src/server/dashboard/pages/rejects.ts';
import { nextOf } from '../../../../src/server/dashboard/session.ts';

test('text in a template stays text', () => {
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

test('text that is not one JSON document is shown as it came', () => {
  for (const text of ['{"a":', '[1,2', '{"a":"b', 'plain text', '']) expect(indented(text)).toBe(text);
});

test('the sign-in leads to our own pages only', () => {
  const foreign = ['//evil.example', '/\\evil.example', 'https://evil.example'];
  for (const bad of [...foreign, '/login', 'x', '/a b', undefined, '']) expect(nextOf(bad)).toBe('/');
  expect(nextOf('/runs?pipeline=tracker')).toBe('/runs?pipeline=tracker');
});
