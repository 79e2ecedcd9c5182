/** The tables of schema `ads` that records become rows of; their versions and revisions are declared with them. */
import type { DeclaredTable } from '../../core/table.ts';
import { adSetDrafts, adSets } from './ad-sets.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, hourly, insights, lifetime } from './facts.ts';
import type { Entity } from './fields.ts';

const tablesOf = ({ table, children }: Pick<Entity, 'table' | 'children'>): readonly DeclaredTable[] => [
  table,
  ...Object.values(children).map((child) => child.table as DeclaredTable),
];

export const adsTables: readonly DeclaredTable[] = [
  ...[entities.businesses, entities.adAccounts, entities.campaigns, adSets, entities.ads].flatMap(tablesOf),
  ...[entities.assets, entities.audiences, entities.adCategories, entities.changeHistory].flatMap(tablesOf),
  ...[entities.campaignDrafts, adSetDrafts, entities.adDrafts].flatMap(tablesOf),
  ...[daily, hourly, lifetime].map(({ table }) => table),
  ...tablesOf(insights),
  csvRows.table,
];
