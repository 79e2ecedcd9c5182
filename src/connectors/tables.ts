/** The tables of the connectors that come with Tidemark: the views of `bi` read them, whichever pipelines are configured. */
import type { DeclaredTable } from '../core/table.ts';
import { workflowTables } from './dagu/tables.ts';
import { trackerTables } from './jira/tables.ts';
import { adsTables } from './spotify-ads/tables.ts';

export const shippedTables: readonly DeclaredTable[] = [
  ...trackerTables,
  ...adsTables,
  ...workflowTables,
] as readonly DeclaredTable[];
