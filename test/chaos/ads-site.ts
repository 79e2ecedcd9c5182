import { startAds } from '../../simulators/spotify-ads/server.ts';
import type { Change } from '../model/ads-steps.ts';
import { adsWorldOf } from '../model/ads-world.ts';
import { adsDifferences, type Beside } from '../support/ads-compared.ts';
import { insightDifferences } from '../support/ads-insights.ts';
import { pictureOf } from '../support/ads-picture.ts';
import type { Draw } from './seed.ts';
import { misbehave, type Place, type Site, wireTo } from './site.ts';

/** The clock moves by a second with each change: a campaign is over before the day is. */
const begin = new Date('2026-06-30T02:00:00Z');
const days = 8;
const day = 86_400_000;
const start = new Date(Date.parse('2026-06-30T00:00:00Z') - days * day);

/** So many campaigns make a run as long as it may be. */
const mostCampaigns = 3;

export async function adsSite({ name, seed, bad }: Place): Promise<Site> {
  const platform = await startAds({
    seed,
    accounts: 1,
    campaigns: 1,
    adSetsPerCampaign: 1,
    adsPerAdSet: 1,
    days,
    now: begin,
    csv: { polls: 0 },
    dialect: 'vendor',
    latencyMs: bad ? 10 : 2,
  });
  const { state, storage, tokens } = platform;
  const world = adsWorldOf(platform);
  if (bad) misbehave(platform, bad.draw, ['short page']);
  const way = bad ? await wireTo(platform.url) : { wire: undefined, url: platform.url };
  return {
    name,
    connector: 'spotifyAds',
    exclude: [],
    variables: {
      BASE_URL: way.url,
      CLIENT_ID: tokens.clientId,
      CLIENT_SECRET: tokens.clientSecret,
      REFRESH_TOKEN: tokens.refresh,
      TOKEN_URL: platform.tokenUrl.replace(new URL(platform.url).origin, new URL(way.url).origin),
      SDK_HEADER: platform.sdkHeader,
      REPORT_HOSTS: new URL(storage.origin).host,
      START: start.toISOString().slice(0, 10),
      CONCURRENCY: '4',
      REQUESTS_PER_SECOND: '0',
      REPORT_REQUESTS_PER_SECOND: '0',
    },
    asks: [undefined, undefined, undefined, 'DOES=full'],
    script: platform.script,
    errors: platform.errors,
    wire: way.wire,
    change(draw) {
      platform.clock.advance(1_000);
      world.change(changeOf(draw, state.campaigns.size >= mostCampaigns));
    },
    // Audience insights are requested once a day: those of the next day know all changes.
    calm() {
      world.calm();
      platform.clock.advance(day);
    },
    async equal(rows) {
      const today = platform.clock.now().toISOString().slice(0, 10);
      // Lifetimes of the day before were captured before its last changes.
      const isEarlier: Beside = (table, row) => table === 'report_lifetime' && row.captured_on !== today;
      // What was restated is among the days that every sync reads again.
      const picture = pictureOf(state, { from: start, history: true });
      const [{ n } = { n: 0 }] = await rows<{ n: number }>(
        'select count(*)::int as n from ads.insight_snapshots where captured_on = $1',
        [today],
      );
      return [
        ...(await adsDifferences(rows, picture, isEarlier)),
        ...(await insightDifferences(rows, state)),
        ...(n > 0 ? [] : ['no audience insights were compared: none had enough impressions']),
      ];
    },
    async close() {
      await way.wire?.close();
      await platform.close();
    },
  };
}

/** Nothing that a sync does not read again at once: no days of long ago, and no name, by which CSV reports know a day's rows. */
function changeOf(draw: Draw, isFull: boolean): Change {
  const which = draw.between(0, 30);
  const ago = draw.between(1, 2);
  const more: readonly Change[] = isFull
    ? []
    : [
        { is: 'campaign', which },
        { is: 'ad set', which },
        { is: 'ad', which },
      ];
  return draw.oneOf<Change>([
    { is: 'restate', level: draw.between(0, 3), which, ago },
    { is: 'restate hour', level: draw.between(0, 3), which, ago },
    { is: 'correct', which, ago },
    { is: 'audience', which },
    { is: 'delete audience', which },
    { is: 'edit audience', which },
    { is: 'budget', which },
    { is: 'bid', which },
    { is: 'pause', which },
    { is: 'resume', which },
    { is: 'draft', which },
    { is: 'draft of live', which },
    { is: 'edit draft', which },
    { is: 'publish', which },
    { is: 'delete draft', which },
    { is: 'report fails' },
    { is: 'file is cut' },
    { is: 'address expires' },
    { is: 'token ends' },
    ...more,
  ]);
}
