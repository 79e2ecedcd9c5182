import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  days,
  epochMillis,
  localMinutes,
  utc,
  type Zone,
  zoneOf,
} from '../../../../src/connectors/jira/dates.ts';
import { filterOf, windowJql } from '../../../../src/connectors/jira/jql.ts';
import { idBy, listOf } from '../../../../src/connectors/jira/lists.ts';
import { Misconfigured, UnexpectedContent } from '../../../../src/core/errors.ts';
import { parseJson } from '../../../../src/core/json.ts';

const known = (name: string): Zone => {
  const zone = zoneOf(name);
  if (zone === undefined) throw new Error(`no zone ${name}`);
  return zone;
};

/** All instants at which a zone's clocks show a wall time; none in a spring gap. Independent of `Zone.floor` and `Zone.ceil`. */
const readings = (zone: Zone, wall: number): number[] => {
  const found = new Set<number>();
  for (let offset = -16 * 60; offset <= 16 * 60; offset += 15) {
    const at = wall - offset * 60_000;
    if (zone.wall(at) === wall) found.add(at);
  }
  return [...found];
};

const literalOf = (text: string): number => Date.parse(`${text.slice(1, -1).replace(' ', 'T')}:00Z`);

describe('quoted minutes', () => {
  const nights = [
    ['Europe/Berlin', '2024-10-27T01:00:00Z'],
    ['Europe/Berlin', '2024-03-31T01:00:00Z'],
    ['America/New_York', '2023-11-05T06:00:00Z'],
    ['Australia/Lord_Howe', '2024-04-06T15:00:00Z'],
    ['America/Sao_Paulo', '2018-11-04T03:00:00Z'],
    ['America/Havana', '2024-11-03T05:00:00Z'],
    ['Africa/Casablanca', '2024-03-10T02:00:00Z'],
    ['Antarctica/Troll', '2024-10-27T01:00:00Z'],
    ['Asia/Kathmandu', '2024-06-01T00:00:00Z'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z'],
    ['Europe/Moscow', '2014-10-25T22:00:00Z'],
  ] as const;

  it.each(nights)(
    'never lose an instant in %s around %s, whichever of two readings the server takes',
    (name, around) => {
      const zone = known(name);
      const form = localMinutes(zone);
      fc.assert(
        fc.property(fc.integer({ min: -5 * 3_600_000, max: 5 * 3_600_000 }), (away) => {
          const at = Date.parse(around) + away;
          const low = readings(zone, literalOf(form.from(new Date(at))));
          const high = readings(zone, literalOf(form.to(new Date(at)) ?? ''));
          expect(low).toHaveLength(1);
          expect(high).toHaveLength(1);
          expect(Math.max(...low)).toBeLessThanOrEqual(at);
          expect(Math.min(...high)).toBeGreaterThanOrEqual(at);
          expect(at - Math.min(...low)).toBeLessThanOrEqual(5 * 3_600_000);
          expect(Math.max(...high) - at).toBeLessThanOrEqual(5 * 3_600_000);
        }),
        { numRuns: 60 },
      );
    },
  );

  it('step over the hour that occurs twice, and are exact to the minute elsewhere', () => {
    const form = localMinutes(known('Europe/Berlin'));
    expect(form.from(new Date('2024-10-27T00:30:00Z'))).toBe('"2024-10-27 01:45"');
    expect(form.to(new Date('2024-10-27T00:30:00Z'))).toBe('"2024-10-27 03:00"');
    expect(form.from(new Date('2024-07-01T10:00:30.500Z'))).toBe('"2024-07-01 12:00"');
    expect(form.to(new Date('2024-07-01T10:00:30.500Z'))).toBe('"2024-07-01 12:01"');
    expect(form.to(new Date('2024-07-01T10:00:00Z'))).toBe('"2024-07-01 12:00"');
  });

  it('widened by fifteen hours cover the same instants in any zone the server may read them in', () => {
    const form = localMinutes(utc, 15 * 3_600_000);
    const instant = fc.date({
      min: new Date('2000-01-01'),
      max: new Date('2035-01-01'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(
        instant,
        fc.constantFrom('Pacific/Kiritimati', 'Etc/GMT+12', 'Europe/Berlin', 'America/St_Johns'),
        (at, name) => {
          const zone = known(name);
          for (const reading of readings(zone, literalOf(form.from(at))))
            expect(reading).toBeLessThanOrEqual(at.getTime());
          for (const reading of readings(zone, literalOf(form.to(at) ?? '')))
            expect(reading).toBeGreaterThanOrEqual(at.getTime());
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('other literals', () => {
  it('epoch milliseconds are exact and never negative, which would mean a relative time', () => {
    expect(epochMillis.from(new Date('2024-01-01T00:00:00.001Z'))).toBe('1704067200001');
    expect(epochMillis.from(new Date('1969-12-31T00:00:00Z'))).toBe('0');
  });

  it('dates only are widened beyond any zone, whole days outward', () => {
    expect(days('"').from(new Date('2024-03-10T12:00:00Z'))).toBe('"2024-03-09"');
    expect(days('').to(new Date('2024-03-10T12:00:00Z'))).toBe('2024-03-12');
    expect(days('').to(new Date('2024-03-09T09:00:00Z'))).toBe('2024-03-10');
    expect(days('').to(new Date('2024-03-09T09:00:00.001Z'))).toBe('2024-03-11');
  });

  it('a zone this machine does not know is no zone', () => {
    expect(zoneOf('Mars/Olympus_Mons')).toBeUndefined();
  });
});

describe('queries', () => {
  const start = new Date('2000-01-01T00:00:00Z');
  const scope = { start, filter: undefined };

  it('are bounded by created and ordered by key, with or without a window', () => {
    expect(windowJql(epochMillis, scope)).toBe('created >= 946684800000 ORDER BY key ASC');
    expect(windowJql(epochMillis, scope, { field: 'created', from: new Date(1), to: new Date(2) })).toBe(
      'created >= 1 AND created < 2 ORDER BY key ASC',
    );
    expect(windowJql(epochMillis, scope, { field: 'created', to: new Date(2) })).toBe(
      'created >= 946684800000 AND created < 2 ORDER BY key ASC',
    );
    expect(windowJql(epochMillis, scope, { field: 'updated', from: new Date(5) })).toBe(
      'created >= 946684800000 AND updated >= 5 ORDER BY key ASC',
    );
  });

  it('keep the filter of the user within parentheses of its own', () => {
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
  ])('refuse a filter that could reach out of its parentheses or order the walk: %s', (jql) => {
    expect(() => filterOf(jql)).toThrow(Misconfigured);
  });

  it.each([
    'summary ~ "order by (" AND project in (A, B)',
    "summary ~ 'it is \\' fine ('",
    'summary ~ "say \\"hi\\" :)"',
    '((project = A))',
  ])('let a filter through whose quotes hold what would be wrong outside of them: %s', (jql) => {
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
    ['text', 'string'],
  ])('are never read out of %j', (body, seen) => {
    expect(() => list(body)).toThrow(UnexpectedContent);
    expect(() => list(body)).toThrow(seen);
    expect(() => list(body)).toThrow('/some/list');
  });

  it('tell records apart by text, numbers and numbers beyond a double', () => {
    const id = idBy('id', 'name');
    const [big] = list(parseJson(Buffer.from('[{"id":9007199254740993}]')));
    expect([id({ id: '7' }), id({ id: 7 }), id(big), id({ name: 'n' }), id({}), id(null), id('x')]).toEqual([
      '7',
      '7',
      '9007199254740993',
      'n',
      '',
      '',
      '',
    ]);
    expect(idBy('toString')({})).toBe('');
  });
});
