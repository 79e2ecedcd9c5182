/** Spotify Ads as a connector: `source: spotifyAds({ … })` in a pipeline file. */
import { defineConnector } from '../connector.ts';
import { check, credentialsOf, sdkHeaderFor, settings } from './config.ts';
import { adsTables } from './tables.ts';

export const spotifyAds = defineConnector({
  name: 'spotifyAds',
  about: 'Accounts, campaigns, ads and their daily reports, from the advertising platform.',
  schema: 'ads',
  tables: adsTables,
  settings,
  check,
  reading: ({ start }) => ({ historyStart: start }),
  async open(given, tools) {
    const credentials = credentialsOf(given);
    const values = { ...given, sdkHeader: given.sdkHeader ?? sdkHeaderFor(given.baseUrl) };
    const { openAds } = await import('./source.ts');
    const deps = { note: tools.note, http: tools.httpOptions };
    if (credentials.kind !== 'refresh') return openAds({ ...values, credentials }, deps);
    const { tokenFile, vaultTokens } = await import('./tokens.ts');
    const { home: directory, lock, pipeline, vault } = tools;
    const { refreshToken: configured } = credentials;
    const file = tokenFile({ directory, name: `${pipeline}-token`, configured, lock });
    const tokens = vault ? vaultTokens(vault, pipeline, configured, file) : file;
    return openAds({ ...values, credentials }, { ...deps, tokens });
  },
});
