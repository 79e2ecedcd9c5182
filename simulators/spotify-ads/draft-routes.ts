/** Drafts: created, edited, validated, published, deleted (contracts/ads.md, sections 3 and 4). */

import type { Answer, Call, Route } from '../shared/http.ts';
import { adFields, adSetFields, type Body, bodyOf, campaignFields, choiceIn, textIn } from './body.ts';
import { inAccount } from './entity-routes.ts';
import * as json from './json.ts';
import type { Draft } from './model.ts';
import type { Site } from './site.ts';

const account = '/ad_accounts/{id}';

const kinds = [
  { kind: 'campaign', path: 'campaigns' },
  { kind: 'ad_set', path: 'ad_sets' },
  { kind: 'ad', path: 'ads' },
] as const;

export const draftRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const one = (call: Call, kind: Draft['kind']): Draft => {
    const found = inAccount(site, call, (id) => {
      const draft = state.drafts.get(id);
      return draft?.kind === kind ? { accountId: draft.of.accountId, draft } : undefined;
    });
    return found.draft;
  };
  const show = (draft: Draft): Answer => site.json(json.draft(state, draft));
  const route = (method: Route['method'], path: string, handle: Route['handle']): Route => ({
    method,
    path: `${account}/${path}`,
    inContract: true,
    handle,
  });
  return [
    ...kinds.flatMap(({ kind, path }) => [
      route('POST', `drafts/${path}`, (call) => show(create(site, call, kind))),
      route('GET', `drafts/${path}/{entity}`, (call) => show(one(call, kind))),
      route('PATCH', `drafts/${path}/{entity}`, (call) => {
        const draft = one(call, kind);
        state.editDraft(draft.of.id, fieldsOf(site, kind, bodyOf(site, call)));
        return show(draft);
      }),
      route('DELETE', `drafts/${path}/{entity}`, (call) => {
        state.deleteDraft(one(call, kind).of.id);
        return { status: 204, headers: {}, body: [] };
      }),
    ]),
    route('POST', 'campaigns/{entity}/drafts', (call) =>
      show(state.draftOf(inAccount(site, call, (id) => state.campaigns.get(id)).id)),
    ),
    route('POST', 'ad_sets/{entity}/drafts', (call) =>
      show(state.draftOf(inAccount(site, call, (id) => state.adSets.get(id)).id)),
    ),
    route('POST', 'ads/{entity}/drafts', (call) =>
      show(state.draftOf(inAccount(site, call, (id) => state.ads.get(id)).id)),
    ),
    route('POST', 'drafts/campaigns/{entity}', (call) => act(site, call, one(call, 'campaign'))),
  ];
};

const fieldsOf = (site: Site, kind: Draft['kind'], body: Body) => {
  if (kind === 'campaign') return campaignFields(site, body);
  return kind === 'ad_set' ? adSetFields(site, body) : adFields(site, body);
};

/** A draft may lack anything but what it stands under. */
function create(site: Site, call: Call, kind: Draft['kind']): Draft {
  const { state } = site;
  const owner = site.owner(call);
  const parent = { campaign: undefined, ad_set: 'campaign_id', ad: 'ad_set_id' }[kind];
  const body = bodyOf(site, call, parent === undefined ? [] : [parent]);
  const above = parent === undefined ? '' : (textIn(site, body, parent) ?? '');
  const found = state.drafts.get(above);
  if (parent !== undefined && (found?.of.accountId !== owner.id || found.kind !== kindAbove[kind]))
    throw site.refused(400, `${parent} ${above} is no draft`, 'ILLEGAL.REFERENCE');
  const stamp = state.draftStamp(owner.id);
  const draft: Draft =
    kind === 'campaign'
      ? { kind, version: 1, of: { ...stamp, ...campaignFields(site, body), ...keep(stamp, body) } }
      : kind === 'ad_set'
        ? { kind, of: { ...stamp, ...adSetFields(site, body), ...keep(stamp, body), campaignId: above } }
        : { kind, of: { ...stamp, ...adFields(site, body), ...keep(stamp, body), adSetId: above } };
  state.putDraft(draft);
  return draft;
}

const kindAbove = { campaign: undefined, ad_set: 'campaign', ad: 'ad_set' } as const;

/** Name and status as given, else as a new draft has them; whose and since when is not the client's to say. */
const keep = <T extends { readonly name: string; readonly status: string }>(stamp: T, body: Body): T => ({
  ...stamp,
  ...(typeof body.name === 'string' && { name: body.name }),
  ...(typeof body.status === 'string' && { status: body.status }),
});

/** VALIDATE or PUBLISH. 409 where the hierarchy has changed since the client looked; 400 with what is wrong with it. */
function act(site: Site, call: Call, draft: Draft): Answer {
  const { state } = site;
  if (draft.kind !== 'campaign') throw site.refused(404, 'The draft was not found.', 'NOT_FOUND');
  const body = bodyOf(site, call, ['draft_hierarchy_version']);
  const action = choiceIn(site, body, 'action', ['VALIDATE', 'PUBLISH']) ?? 'VALIDATE';
  if (body.draft_hierarchy_version !== draft.version)
    throw site.refused(
      409,
      `draft_hierarchy_version is ${draft.version}, not ${String(body.draft_hierarchy_version)}`,
      'DRAFT_HIERARCHY_VERSION_CONFLICT',
    );
  const flaws = state.flaws(draft.of.id);
  if (flaws.length > 0) throw site.invalid(flaws);
  if (action === 'VALIDATE') return site.json({ validation_errors: null });
  state.publish(draft.of.id);
  const live = state.campaigns.get(draft.of.id);
  return site.json({ ...(live !== undefined && { campaign: json.campaign(live) }), validation_errors: null });
}
