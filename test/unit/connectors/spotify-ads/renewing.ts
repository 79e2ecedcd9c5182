/** A process of its own that opens the ads platform several times, each with a renewal. Words: base URL, token URL, directory, token, times. */

import process from 'node:process';
import { openClient } from '../../../../src/connectors/spotify-ads/source.ts';
import { tokenFile } from '../../../../src/connectors/spotify-ads/tokens.ts';
import { exclusive } from '../../../../src/embedded/locks.ts';

const [baseUrl = '', tokenUrl = '', directory = '', configured = '', times = '1'] = process.argv.slice(2);
const refreshToken = { reveal: () => configured };

for (let time = 0; time < Number(times); time++) {
  const http = openClient(
    {
      baseUrl,
      credentials: {
        kind: 'refresh',
        clientId: 'c',
        clientSecret: { reveal: () => 's' },
        refreshToken,
        tokenUrl,
      },
      sdkHeader: 'X-Sdk',
      concurrency: 2,
      requestsPerSecond: 0,
      reportRequestsPerSecond: 0,
    },
    {
      tokens: tokenFile({
        directory,
        name: 'ads-token',
        configured: refreshToken,
        lock: (file, signal) => exclusive(file, 20_000, signal),
      }),
    },
  );
  await http.send({ method: 'GET', path: '/x', endpoint: '/x' }, new AbortController().signal);
  await http.close();
}
