/** The tables of schema `ads` that records become rows of; their versions and revisions are declared with them. */
import type { DeclaredTable } from '../../core/table.ts';
import { csvRows } from './csv-rows.ts';
import * as entities from './entities.ts';
import { daily, hourly, insights, lifetime } from './facts.ts';
import type { Entity } from './fields.ts';

const { businesses, adAccounts, campaigns, adSets, ads, assets, audiences, adCategories } = entities;
const { changeHistory, campaignDrafts, adSetDrafts, adDrafts, targetNames, totals } = entities;

export const adsTables = [
  businesses,
  adAccounts,
  campaigns,
  adSets,
  ads,
  assets,
  audiences,
  adCategories,
  changeHistory,
  targetNames,
  campaignDrafts,
  adSetDrafts,
  adDrafts,
  daily,
  hourly,
  lifetime,
  totals,
  insights,
  csvRows,
].flatMap(({ table, children = {} }: Pick<Entity, 'table' | 'children'>): readonly DeclaredTable[] => [
  table,
  ...Object.values(children).map((child) => child.table as DeclaredTable),
]);
