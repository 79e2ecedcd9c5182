import { expect, test } from 'vitest';
import type { Mapped } from '../../../src/core/stream.ts';
import type { Row, Table } from '../../../src/core/table.ts';
import { Batch } from '../../../src/load/batch.ts';
import { withStorableText } from '../../../src/load/storable-text.ts';
import { plainTable } from '../../support/plain-table.ts';
import { thingFlow } from './things.ts';

const noted = plainTable({
  ...thingFlow.table,
  columns: { ...thingFlow.table.columns, labels: 'text[]', doc: 'jsonb', _extra: 'jsonb' },
} as Table);
const comments = plainTable({
  schema: 'lab',
  name: 'comments',
  columns: { id: 'bigint', thing_id: 'bigint', body: 'text', _extra: 'jsonb' },
  key: ['id'],
  entity: true,
});
const flow = {
  ...thingFlow,
  table: noted,
  children: { ...thingFlow.children, comments: { table: comments, parent: ['thing_id'], absent: 'deleted' } },
} as const;
const row: Row = { id: 1n, name: 'a', labels: ['b'], doc: '{"c":1}', _extra: '{"more":1}', updated_at: 0n };
const mapped = (over: Row, children: Mapped['children'] = {}): Mapped => ({
  row: { ...row, ...over },
  children,
});
const exactIn = (extra: unknown): unknown => JSON.parse(String(extra))._exact_text;

test('the exact value of each column is kept as JSON text next to what _extra holds already', () => {
  const changed = { name: 'a\0', labels: ['b', '\udc00'], doc: '{"c\\u0000":12345678901234567.89}' };
  const { row: stored, notes } = withStorableText(flow, mapped(changed)).mapped;
  const doc = '{"c\\ufffd":12345678901234567.89}';
  expect(stored).toMatchObject({ name: 'a\ufffd', labels: ['b', '\ufffd'], doc });
  expect(JSON.parse(String(stored._extra))).toMatchObject({ more: 1 });
  expect(exactIn(stored._extra)).toEqual({ name: '"a\\u0000"', labels: '["b","\\udc00"]', doc: changed.doc });
  expect(notes).toHaveLength(3);
});

test('what _extra itself holds is replaced and kept exactly, too', () => {
  const { _extra } = withStorableText(flow, mapped({ _extra: '{"more":"\\u0000"}' })).mapped.row;
  expect(JSON.parse(String(_extra))).toEqual({
    more: '\ufffd',
    _exact_text: { _extra: '{"more":"\\u0000"}' },
  });
});

test('a child keeps its exact text in its own _extra, or in that of the record', () => {
  const notes = [{ id: 7n, thing_id: 1n, body: 'n\0' }];
  const comments = [{ id: 8n, thing_id: 1n, body: 'c\0', _extra: null }];
  const { mapped: stored } = withStorableText(flow, mapped({ name: 'a\0' }, { notes, comments }));
  expect(exactIn(stored.row._extra)).toEqual({ name: '"a\\u0000"', 'notes[0].body': '"n\\u0000"' });
  expect(stored.children.notes).toEqual([{ id: 7n, thing_id: 1n, body: 'n\ufffd' }]);
  const [comment] = stored.children.comments ?? [];
  expect(comment?.body).toBe('c\ufffd');
  expect(exactIn(comment?._extra)).toEqual({ body: '"c\\u0000"' });
});

test('a list that was fetched apart does not change the hash of its record', () => {
  const comment = { id: 8n, thing_id: 1n, body: 'c\0', _extra: null };
  const batch = new Batch(flow);
  batch.add(mapped({ name: 'a\0' }), 0n, { nested: { comments: [comment] } });
  expect(batch.records[0]?.hash).toBe(batch.digest(mapped({ name: 'a\0' })));
  expect([...batch.notes].sort()).toEqual([
    'comments.body: NUL or half of a surrogate pair is stored as U+FFFD, exact text in _extra',
    'things.name: NUL or half of a surrogate pair is stored as U+FFFD, exact text in _extra',
  ]);
});

test.each([
  ['in a key', { tags: [{ thing_id: 1n, tag: 't\0', weight: 1 }] }, undefined],
  ['where no _extra can keep it', {}, { notes: [{ id: 7n, thing_id: 1n, body: 'n\0' }] }],
])('text that Postgres cannot hold rejects the record %s', (_, children, nested) => {
  const batch = new Batch(flow);
  const add = () => batch.add(mapped({}, children), 0n, { ...(nested && { nested }) });
  expect(add).toThrow(expect.objectContaining({ code: 'bad_text' }));
  expect(batch).toMatchObject({ bytes: 0, received: 0 });
});
