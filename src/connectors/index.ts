/** The connectors that come with Tidemark. */
import type { DeclaredTable } from '../core/table.ts';
import { dagu } from './dagu/connector.ts';
import { jira } from './jira/connector.ts';
import { spotifyAds } from './spotify-ads/connector.ts';

export { dagu, jira, spotifyAds };

/** Their tables: the views of `bi` read them, whichever pipelines are configured. */
export const shippedTables: readonly DeclaredTable[] = [jira, spotifyAds, dagu].flatMap(
  ({ connector }) => connector.tables,
);
