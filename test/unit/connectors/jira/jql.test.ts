import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { epochMillis, filterOf, quotedMinutes, windowJql } from '../../../../src/connectors/jira/jql.ts';
import { idBy, listOf } from '../../../../src/connectors/jira/lists.ts';
import { Misconfigured, UnexpectedContent } from '../../../../src/core/errors.ts';
import { parseJson } from '../../../../src/core/json.ts';
import type { Json, Window } from '../../../../src/core/stream.ts';

const clocks = new Map<string, Intl.DateTimeFormat>();
/** What the clocks of a zone show at an instant, as milliseconds of a clock in UTC. */
const wallOf = (timeZone: string, at: number): number => {
  const clock =
    clocks.get(timeZone) ??
    new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  clocks.set(timeZone, clock);
  return Date.parse(`${clock.format(at).replace(' ', 'T')}Z`);
};

/** All instants that a server in a zone may read a quoted literal as; none where clocks skip it. */
const readings = (timeZone: string, literal: string): readonly number[] => {
  const wall = Date.parse(`${literal.slice(1, -1).replace(' ', 'T')}:00Z`);
  const offsets = Array.from({ length: 129 }, (_, quarter) => (quarter - 64) * 900_000);
  return offsets.map((offset) => wall - offset).filter((at) => wallOf(timeZone, at) === wall);
};

describe('quoted minutes', () => {
  it('cover the same instants in every zone that the server may have', () => {
    const form = quotedMinutes;
    const min = new Date('2000-01-01');
    const max = new Date('2035-01-01');
    const instant = fc.date({ min, max, noInvalidDate: true });
    const zones = ['Pacific/Kiritimati', 'Etc/GMT+12', 'Europe/Berlin', 'America/St_Johns'];
    fc.assert(
      fc.property(instant, fc.constantFrom(...zones), (at, zone) => {
        for (const reading of readings(zone, form.from(at)))
          expect(reading).toBeLessThanOrEqual(at.getTime());
        for (const reading of readings(zone, form.to(at)))
          expect(reading).toBeGreaterThanOrEqual(at.getTime());
      }),
      { numRuns: 40 },
    );
  });
});

describe('epoch milliseconds', () => {
  it('are exact and never negative, which would mean a relative time', () => {
    expect(epochMillis.from(new Date('2024-01-01T00:00:00.001Z'))).toBe('1704067200001');
    expect(epochMillis.from(new Date('1969-12-31T00:00:00Z'))).toBe('0');
  });
});

describe('queries', () => {
  const start = new Date('2000-01-01T00:00:00Z');
  const scope = { start, filter: undefined };

  it('are bounded by created and ordered by key, with or without a window', () => {
    const key = 'ORDER BY key ASC';
    const from = new Date(1);
    const to = new Date(2);
    const jql = (window?: Window) => windowJql(epochMillis, scope, window);
    expect(jql()).toBe(`created >= 946684800000 ${key}`);
    expect(jql({ field: 'created', from, to })).toBe(`created >= 1 AND created < 2 ${key}`);
    expect(jql({ field: 'created', to })).toBe(`created >= 946684800000 AND created < 2 ${key}`);
    expect(jql({ field: 'updated', from })).toBe(`created >= 946684800000 AND updated >= 1 ${key}`);
  });

  it('keep the filter of the user in parentheses of its own', () => {
    const filter = filterOf(' project = A OR project = B ');
    expect(windowJql(epochMillis, { start, filter })).toBe(
      'created >= 946684800000 AND (project = A OR project = B) ORDER BY key ASC',
    );
    expect(filterOf('  ')).toBeUndefined();
    expect(filterOf(undefined)).toBeUndefined();
  });

  it.each([
    'project = A ORDER BY created',
    'project = A order\n  by key',
    'project = A) OR (project = B',
    'project = A)',
    '(project = A',
    'summary ~ "open',
    "summary ~ 'open",
    'summary ~ "a\\"',
    'project = a\\( ) OR (project = b\\)',
  ])('refuse a filter that could leave its parentheses or set an order: %s', (jql) => {
    expect(() => filterOf(jql)).toThrow(Misconfigured);
  });

  it.each([
    'summary ~ "order by (" AND project in (A, B)',
    "summary ~ 'it is \\' fine ('",
    'summary ~ "say \\"hi\\" :)"',
    '((project = A))',
  ])('accept a filter with such text within quotes: %s', (jql) => {
    expect(filterOf(jql)).toBe(jql);
  });
});

describe('lists', () => {
  const list = listOf('/some/list');

  it('are found bare, under the names of the contract, or as the only array of the envelope', () => {
    expect(list([1])).toEqual([1]);
    expect(list({ total: 1, values: [1] })).toEqual([1]);
    expect(list({ names: {}, issues: [1] })).toEqual([1]);
    expect(list({ startAt: 0, worklogs: [1] })).toEqual([1]);
  });

  it.each([
    [{ errorMessages: ['no'], errors: {} }, 'errorMessages, errors'],
    [{ error: 'no' }, 'error'],
    [{ values: { a: 1 } }, 'values'],
    [{ issues: null }, 'issues'],
    [{ a: [], b: [] }, 'a, b'],
    [{}, '(none)'],
    [null, 'null'],
    ['text', 'it is text'],
  ])('are never read out of %j', (body, seen) => {
    expect(() => list(body)).toThrow(UnexpectedContent);
    expect(() => list(body)).toThrow(seen);
    expect(() => list(body)).toThrow('/some/list');
  });

  it('identify records by text, numbers and numbers beyond a double', () => {
    const id = idBy('id', 'name');
    const [big] = list(parseJson(Buffer.from('[{"id":9007199254740993}]')));
    const records = [{ id: '7' }, { id: 7 }, big, { name: 'n' }, {}, null, 'x'];
    const ids = ['7', '7', '9007199254740993', 'n', '', '', ''];
    expect(records.map((record) => id(record as Json))).toEqual(ids);
    expect(idBy('toString')({})).toBe('');
  });
});
