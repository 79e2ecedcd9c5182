/** The tables of schema `ads` that records become rows of; their versions and revisions are declared with them. */
import type { DeclaredTable } from '../../core/table.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, hourly, insights, lifetime } from './facts.ts';
import type { Entity } from './fields.ts';

const all = [...Object.values(entities), daily, hourly, lifetime, insights, csvRows];

export const adsTables = all.flatMap(
  ({ table, children = {} }: Pick<Entity, 'table' | 'children'>): readonly DeclaredTable[] => [
    table,
    ...Object.values(children).map((child) => child.table as DeclaredTable),
  ],
);
