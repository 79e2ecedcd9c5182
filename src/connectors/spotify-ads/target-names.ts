/** Names of what ad sets are aimed at: genres, places, interests and others are targeted by id. */

import type { Json, ReadSide } from '../../core/stream.ts';
import { at, get, listNamed, textAt } from '../../reading/requests.ts';
import { type Ads, idChunks } from './ads.ts';
import { answers } from './one-by-one.ts';

/** The list under `/targets` that names the ids of a dimension (vendor's OpenAPI; the contract has artists alone). */
const lists = {
  artist_ids: 'artists',
  genre_ids: 'genres',
  interest_ids: 'interests',
  playlist_ids: 'playlists',
  podcast_episode_topic_ids: 'episode_topics',
  language: 'languages',
  'sensitive_topic_exclusions.topics': 'sensitive_topics',
  'geo_targets.city_ids': 'geos',
  'geo_targets.region_ids': 'geos',
  'geo_targets.postal_code_ids': 'geos',
};

/** Only ids in use, fifty a request, that have no name or one from a month ago: the lists are searches over millions. */
export const targetNames = (ads: Ads): ReadSide => ({
  by: 'list',
  name: 'target_names',
  about: 'Names of the ids that ad sets target: artists, genres, interests, places and others.',
  endpoint: 'GET /targets/{list}',
  optional: true,
  recentOnly: true,
  after: ['ad_sets'],
  async read(_, { keys, clock }, signal) {
    const asked_on = clock.toISOString().slice(0, 10);
    // A sensitive topic is written with its filter: `war=LIMITED`.
    const where = `not exists (select from ads.target_names n
      where n.source_id = ad_set_targets.source_id and n.dimension = ad_set_targets.dimension
        and n.id = split_part(value, '=', 1) and n.asked_on > '${asked_on}'::date - 30)`;
    const columns = { dimension: 'dimension', value: 'value' };
    const among = { dimension: Object.keys(lists) };
    const used = await keys({ table: 'ads.ad_set_targets', columns, among, where });
    const items = Object.entries(lists).flatMap(([dimension, list]) => {
      const own = used.filter((one) => one.dimension === dimension);
      const ids = new Set(own.flatMap(({ value }) => value?.split('=')[0] ?? []));
      return idChunks([...ids]).map((some) => ({ dimension, list, ids: some }));
    });
    const page = async ({ dimension, list, ids }: (typeof items)[number], until: AbortSignal) => {
      const path = `/targets/${list}`;
      const { body, raw } = await ads.http.send(get(path, { ids }), until);
      const given = listNamed(path, list);
      const records = given(body)
        .flatMap(withParts)
        .filter((one) => ids.includes(textAt(one, 'id') ?? ''))
        .map((one) => ({ ...Object(one), dimension, asked_on }));
      return { records, raw };
    };
    const nameOf = ({ dimension, ids: [first] }: (typeof items)[number]) => `${dimension} ${first}`;
    const id = (one: Json) => `${textAt(one, 'dimension')} ${textAt(one, 'id')}`;
    return answers(ads, { endpoint: '/targets', items, nameOf, page }, id, signal);
  },
});

/** An interest comes with those within it. */
const withParts = (one: Json): readonly Json[] => {
  const parts = at(one, 'subtargets');
  const parent_geo_name = textAt(one, 'name');
  return [one, ...(Array.isArray(parts) ? parts.map((part) => ({ ...Object(part), parent_geo_name })) : [])];
};
