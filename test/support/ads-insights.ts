import { metrics } from '../../simulators/spotify-ads/fields.ts';
import { insightOf, insightValues } from '../../simulators/spotify-ads/insight.ts';
import type { AdsState } from '../../simulators/spotify-ads/state.ts';
import { stored } from './ads-compared.ts';
import { type Cells, numbers } from './ads-picture.ts';
import type { Rig } from './rig.ts';

const key = ['entity_type', 'entity_id', 'dimension', 'value'] as const;
const keyOf = (row: Cells): string => key.map((name) => row[name]).join(' ');
const day = 86_400_000;
/** The platform tells about what has ended for so long (vendor's OpenAPI, getAudienceInsightReport). */
const lateness = 14 * day;

/**
 * One line for each difference between today's snapshots of who heard it and the platform, of all that may still have news, and for each question
 * that was not asked once all data of what has ended were in. For the moment behind a run that asked for them: they are asked for once a day.
 */
export async function insightDifferences(rows: Rig['rows'], state: AdsState): Promise<readonly string[]> {
  const now = state.clock.now();
  const today = now.toISOString().slice(0, 10);
  const everyone = [
    ...[...state.campaigns.values()].map((one) => ({ ...one, level: 'CAMPAIGN' as const, end: undefined })),
    ...[...state.adSets.values()].map((one) => ({ ...one, level: 'AD_SET' as const })),
  ].map((one) => {
    const ends = [one.end, one.status === 'ARCHIVED' ? one.updatedAt : undefined].filter(
      (end) => end !== undefined,
    );
    return { ...one, until: Math.floor((Math.min(...ends) + lateness) / day) * day };
  });
  const going = everyone.filter(({ until }) => until >= now.getTime());
  const asked = new Map(
    (await stored(rows, 'insight_states', ['entity_type', 'entity_id', 'dimension', 'asked_on'])).map(
      (row) => [`${row.entity_type} ${row.entity_id} ${row.dimension}`, Date.parse(row.asked_on ?? '')],
    ),
  );
  const unasked = everyone.flatMap(({ level, id, until }) =>
    Object.keys(insightValues)
      .map((dimension) => `${level} ${id} ${dimension}`)
      .filter((one) => (asked.get(one) ?? 0) < Math.min(Date.parse(today), until)),
  );
  const should = going.flatMap(({ level, id, accountId }) =>
    Object.keys(insightValues).flatMap((dimension) =>
      [...(insightOf(state, level, id, dimension)?.parts ?? [])].map(
        ([value, part]): Cells => ({
          entity_type: level,
          entity_id: id,
          dimension,
          value,
          captured_on: today,
          ad_account_id: accountId,
          ...numbers('insight', (name) => metrics.get(name)?.(part)),
        }),
      ),
    ),
  );
  const columns = Object.keys(
    should[0] ?? { entity_type: '', entity_id: '', dimension: '', value: '', captured_on: '' },
  );
  const ids = new Set(going.map(({ id }) => id));
  const are = (await stored(rows, 'insight_snapshots', columns)).filter(
    (row) => row.captured_on === today && ids.has(row.entity_id ?? ''),
  );
  const told = new Map(should.map((row) => [keyOf(row), JSON.stringify(row)]));
  const held = new Map(are.map((row) => [keyOf(row), JSON.stringify(row)]));
  return [
    ...unasked.map((one) => `insight ${one}: may have news, and was not asked for`),
    ...[...told]
      .filter(([one, text]) => held.get(one) !== text)
      .map(([one, text]) => `insight ${one}: ${held.get(one)}, should be ${text}`),
    ...[...held.keys()].filter((one) => !told.has(one)).map((one) => `insight ${one}: should not be there`),
  ];
}
