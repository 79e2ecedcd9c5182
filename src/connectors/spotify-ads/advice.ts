/** What to do about sentences of the platform's errors and of its token endpoint. */

import type { Advice } from '../../http/advice.ts';

export const advice: readonly Advice[] = [
  // home-assistant/core#124333, novatorem/novatorem#81; developer.spotify.com, "Refreshing tokens": six months.
  [/invalid_grant|refresh token/i, 'it was revoked or is six months old: docs/guides/spotify-ads.md'],
  // spotify/web-api#597, novatorem/novatorem#42.
  [/invalid_client/i, 'ADS_CLIENT_ID and ADS_CLIENT_SECRET are not those of one app'],
  // developer.spotify.com, "API calls".
  [
    /access token (has )?expired/i,
    'an access token lives for an hour: set ADS_REFRESH_TOKEN, which renews it',
  ],
  // spotipy-dev/spotipy#1044 and #688, aome510/spotify-player#913.
  [/user.*not.*(registered|approved)/i, 'add the user under User Management of the app', 'login'],
  // People who read an account have a role in it (the vendor's help for Ads Manager); its sentence is in no public report.
  [/\bad account\b/i, 'give the Spotify account a role in this ad account, in Ads Manager'],
  // developer.spotify.com, "Ads API quickstart".
  [/\bterms\b|allow-?listed/i, 'accept the terms of the Ads API for this client id, and wait for an hour'],
];
