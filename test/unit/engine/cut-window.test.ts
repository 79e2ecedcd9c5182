import { describe, expect, test } from 'vitest';
import { cutInto, mostRecords, partsOf } from '../../../src/engine/sync/cut-window.ts';

const at = (text: string): Date => new Date(`2026-${text}:00Z`);
const clock = at('03-10T09:00');
const created = (from?: Date, to?: Date) => ({
  partition: { project: '7' },
  window: { field: 'created' as const, ...(from && { from }), ...(to && { to }) },
});

describe('the parts of a window', () => {
  test('follow each other without gap or overlap, in equal times, and are of the same owner', () => {
    expect(cutInto(4, created(at('01-01T00:00'), at('01-05T00:00')), clock)).toEqual([
      created(at('01-01T00:00'), at('01-02T00:00')),
      created(at('01-02T00:00'), at('01-03T00:00')),
      created(at('01-03T00:00'), at('01-04T00:00')),
      created(at('01-04T00:00'), at('01-05T00:00')),
    ]);
  });

  test('of an open window are cut as if it ended now; the last stays open', () => {
    expect(cutInto(2, created(at('03-10T07:00')), clock)).toEqual([
      created(at('03-10T07:00'), at('03-10T08:00')),
      created(at('03-10T08:00')),
    ]);
  });

  test('begin on whole minutes; a short window has fewer, one of a minute none', () => {
    const from = new Date('2026-01-01T00:00:00.500Z');
    expect(cutInto(4, created(from, at('01-01T00:02')), clock)).toEqual([
      created(from, at('01-01T00:01')),
      created(at('01-01T00:01'), at('01-01T00:02')),
    ]);
    expect(cutInto(4, created(at('01-01T00:00'), at('01-01T00:01')), clock)).toBeUndefined();
    expect(cutInto(2, created(at('01-01T00:01'), at('01-01T00:00')), clock)).toBeUndefined();
  });

  test('are none of a window that has no beginning', () => {
    expect(cutInto(2, created(undefined, at('01-01T00:01')), clock)).toBeUndefined();
  });

  test('are two where two are small enough, four where they would be cut again', () => {
    expect(partsOf(2 * mostRecords, mostRecords)).toBe(2);
    expect(partsOf(2 * mostRecords + 1, mostRecords)).toBe(4);
  });
});
