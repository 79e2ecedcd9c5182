/** What makes a draft complete, and what it becomes. */

import * as make from './make.ts';
import type { Ad, AdSet, Campaign, Draft, Flaw } from './model.ts';

/** A live entity as a draft of its own: what happens to the draft does not happen to it. */
export const unfinished = <T extends { readonly pauses: readonly unknown[] }>(live: T): T => ({
  ...live,
  pauses: [],
});

const types = { campaign: 'CAMPAIGN', ad_set: 'AD_SET', ad: 'AD' } as const;

/** What a draft lacks that a live entity must have (the required fields of contracts/ads.md, section 2). */
const lacks = (draft: Draft): readonly string[] => {
  const missing = (fields: Readonly<Record<string, unknown>>): string[] =>
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined || value === '' ? [`${name} must not be empty`] : [],
    );
  const { name } = draft.of;
  if (draft.kind === 'campaign') return missing({ name, objective: draft.of.objective });
  if (draft.kind === 'ad_set') {
    const { start, budget, assetFormat, targets, bidStrategy, budgetType, end } = draft.of;
    return [
      ...missing({
        name,
        start_time: start,
        budget,
        asset_format: assetFormat,
        targets,
        bid_strategy: bidStrategy,
      }),
      ...(budgetType === 'LIFETIME' && end === undefined ? ['a LIFETIME budget needs end_time'] : []),
    ];
  }
  const { assetId, tagline, advertiser, callToAction } = draft.of;
  return missing({
    name,
    assets: assetId,
    tagline,
    advertiser_name: advertiser,
    call_to_action: callToAction,
  });
};

/** What keeps a hierarchy of drafts from going live. */
export const flawsOf = (drafts: readonly Draft[]): readonly Flaw[] =>
  drafts.flatMap((draft) =>
    lacks(draft).map((message) => ({ type: types[draft.kind], id: draft.of.id, message })),
  );

export type Live =
  | { readonly kind: 'campaign'; readonly of: Campaign }
  | { readonly kind: 'ad_set'; readonly of: AdSet }
  | { readonly kind: 'ad'; readonly of: Ad };

/** The live entity that a complete draft becomes at an instant (epoch ms). */
export function finished(draft: Draft, at: number): Live {
  const { id, accountId, createdAt, name } = draft.of;
  const stamp = { id, accountId, createdAt, updatedAt: at };
  if (draft.kind === 'campaign')
    return { kind: 'campaign', of: make.campaign(stamp, name, { ...draft.of, status: 'ACTIVE' }) };
  if (draft.kind === 'ad_set') {
    const { budget = 0n, start = at } = draft.of;
    return { kind: 'ad_set', of: make.adSet(stamp, name, { ...draft.of, status: 'ACTIVE', budget, start }) };
  }
  const { assetId = '' } = draft.of;
  return { kind: 'ad', of: make.ad(stamp, name, { ...draft.of, status: 'ACTIVE', assetId }) };
}
