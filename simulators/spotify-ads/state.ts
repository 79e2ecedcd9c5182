/** What the platform holds and everything that can happen to it. Every write is stamped with the simulator's clock; unknown ids throw RangeError. */

import type { Clock } from '../shared/clock.ts';
import { mix } from '../shared/random.ts';
import { advertiser, type Sizes } from './company.ts';
import { finished, flawsOf, unfinished } from './drafts.ts';
import * as make from './make.ts';
import type {
  Account,
  Ad,
  AdSet,
  Asset,
  Audience,
  Business,
  Campaign,
  Change,
  Draft,
  Flaw,
  Level,
  Pause,
} from './model.ts';
import type { Counted } from './sums.ts';

export type { Sizes } from './company.ts';

/** A UUID that is the same for the same seed and number. */
export const uuid = (seed: number, number: number): string => {
  const hex = [0, 1, 2, 3]
    .map((part) =>
      mix(mix(seed, number), part + 7)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** What a correction adds to a day of an ad: money in micros. */
export interface Correction {
  readonly spend: bigint;
  readonly revenue: bigint;
  readonly counts: Readonly<Partial<Record<Counted, number>>>;
}

/** Anything of an account that has a name and a status. */
export type Entity = Campaign | AdSet | Ad | Asset | Audience;
type Fields =
  | make.Given<Campaign>
  | make.Given<AdSet>
  | make.Given<Ad>
  | make.Given<Asset>
  | make.Given<Audience>;

const day = 86_400_000;

/** Statuses in which something delivers. */
const delivering: ReadonlySet<string> = new Set(['ACTIVE', 'APPROVED', 'READY']);

const categories: Readonly<Record<string, string>> = {
  status: 'STATUS',
  delivery: 'STATUS',
  budget: 'BUDGET',
  budgetType: 'BUDGET',
  bid: 'BUDGET',
  targets: 'TARGETING',
  start: 'SCHEDULING',
  end: 'SCHEDULING',
  tagline: 'CREATIVE',
  assetId: 'CREATIVE',
  callToAction: 'CREATIVE',
};

const need = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new RangeError(`the platform has no ${what}`);
  return value;
};

export class AdsState {
  readonly businesses: Business[] = [];
  readonly accounts = new Map<string, Account>();
  readonly campaigns = new Map<string, Campaign>();
  readonly adSets = new Map<string, AdSet>();
  readonly ads = new Map<string, Ad>();
  readonly assets = new Map<string, Asset>();
  readonly audiences = new Map<string, Audience>();
  readonly drafts = new Map<string, Draft>();
  readonly changes: Change[] = [];
  /** Ids that no list shows and no request by id finds; reports still name them. */
  readonly unlisted = new Set<string>();
  /** Numbers that were told otherwise than they are made: `LEVEL id YYYY-MM-DD` → field → JSON number text. */
  readonly reported = new Map<string, Map<string, string>>();
  /** By ad and midnight (epoch ms). */
  readonly corrections = new Map<string, Map<number, Correction>>();
  readonly clock: Clock;
  readonly seed: number;
  private made = 0;

  constructor(seed: number, clock: Clock, sizes: Sizes) {
    this.seed = seed;
    this.clock = clock;
    const began = Math.floor(this.now() / day) * day - sizes.days * day;
    const business = this.createBusiness('Northwind Audio', 'ADVERTISER', began);
    for (let i = 0; i < sizes.accounts; i += 1) {
      const made = advertiser(seed, i, sizes, began, () => this.newId());
      this.accounts.set(made.account.id, { ...made.account, businessId: business.id });
      for (const one of made.assets) this.assets.set(one.id, one);
      for (const one of made.audiences) this.audiences.set(one.id, one);
      for (const one of made.campaigns) this.campaigns.set(one.id, one);
      for (const one of made.adSets) this.adSets.set(one.id, one);
      for (const one of made.ads) this.ads.set(one.id, one);
    }
  }

  private now(): number {
    return this.clock.now().getTime();
  }

  newId(): string {
    this.made += 1;
    return uuid(this.seed, this.made);
  }

  private stamp(accountId: string, id = this.newId()): make.Stamp {
    need(this.accounts.get(accountId), `account ${accountId}`);
    const at = this.now();
    return { id, accountId, createdAt: at, updatedAt: at };
  }

  /** A live entity, an asset or an audience. */
  find(id: string): Entity | undefined {
    return (
      this.campaigns.get(id) ??
      this.adSets.get(id) ??
      this.ads.get(id) ??
      this.audiences.get(id) ??
      this.assets.get(id)
    );
  }

  // What the API can do, and people with it

  createBusiness(name: string, type = 'ADVERTISER', at = this.now()): Business {
    const business: Business = { id: this.newId(), createdAt: at, updatedAt: at, name, type };
    this.businesses.push(business);
    return business;
  }

  createCampaign(accountId: string, name: string, given: make.Given<Campaign> = {}): Campaign {
    const made = make.campaign(this.stamp(accountId), name, given);
    this.campaigns.set(made.id, made);
    this.record(made, 'CREATED', 'name', undefined, name);
    return made;
  }

  createAdSet(campaignId: string, name: string, given: make.Given<AdSet> = {}): AdSet {
    const { accountId } = need(this.campaigns.get(campaignId), `campaign ${campaignId}`);
    const rest = {
      ...given,
      campaignId,
      budget: given.budget ?? 12_345_678n,
      start: given.start ?? this.now(),
    };
    const made = make.adSet(this.stamp(accountId), name, rest);
    this.adSets.set(made.id, made);
    this.record(made, 'CREATED', 'name', undefined, name);
    return made;
  }

  /** A new ad in an ad set; it delivers from today on. */
  createAd(adSetId: string, name: string, given: make.Given<Ad> = {}): Ad {
    const { accountId } = need(this.adSets.get(adSetId), `ad set ${adSetId}`);
    const assetId = given.assetId ?? this.someAsset(accountId, 'AUDIO') ?? '';
    const image = this.someAsset(accountId, 'IMAGE');
    const made = make.ad(this.stamp(accountId), name, {
      companionId: image,
      logoId: image,
      ...given,
      adSetId,
      assetId,
    });
    this.ads.set(made.id, made);
    this.record(made, 'CREATED', 'name', undefined, name);
    return made;
  }

  private someAsset(accountId: string, type: Asset['type']): string | undefined {
    return [...this.assets.values()].find((one) => one.accountId === accountId && one.type === type)?.id;
  }

  createAsset(
    accountId: string,
    name: string,
    type: Asset['type'],
    status: 'READY' | 'WAITING_UPLOAD' = 'READY',
  ) {
    const made = make.asset(this.stamp(accountId), name, type, status);
    this.assets.set(made.id, made);
    return made;
  }

  createAudience(
    accountId: string,
    name: string,
    type: Audience['type'],
    given: make.Given<Audience> = {},
  ): Audience {
    const made = make.audience(this.stamp(accountId), name, type, given);
    this.audiences.set(made.id, made);
    return made;
  }

  /** Changes fields of an entity, notes it in the history, and stamps it. */
  update(id: string, fields: Fields): void {
    const found = need(this.find(id), `entity ${id}`);
    for (const [field, after] of Object.entries(fields)) {
      const before: unknown = Reflect.get(found, field);
      if (before === after) continue;
      this.record(found, 'CHANGED', field, before, after);
    }
    Object.assign(found, fields, { updatedAt: this.now() });
    if ('pauses' in found) this.resume(found.pauses, found);
  }

  /** Opens a pause where something has ceased to deliver, and ends the open one where it delivers again. */
  private resume(pauses: Pause[], found: Campaign | AdSet | Ad): void {
    const off = !delivering.has(found.status) || ('delivery' in found && found.delivery === 'OFF');
    const last = pauses.at(-1);
    const open = last !== undefined && last.to === undefined;
    if (off && !open) pauses.push({ from: this.now(), to: undefined });
    if (!off && open) last.to = this.now();
  }

  updateAccount(
    id: string,
    fields: Partial<Pick<Account, 'name' | 'status' | 'industry' | 'website'>>,
  ): void {
    const found = need(this.accounts.get(id), `account ${id}`);
    Object.assign(found, fields, { updatedAt: this.now() });
  }

  /** Ceases to deliver, from the next whole day on. */
  pause(id: string): void {
    if (this.campaigns.has(id)) this.update(id, { status: 'PAUSED' });
    else this.update(id, { delivery: 'OFF' });
  }

  /** What cannot be deleted. */
  archive(id: string): void {
    if (this.assets.has(id)) this.update(id, { archived: true });
    else this.update(id, { status: 'ARCHIVED' });
  }

  /** 403 for everything of an account, or no longer. */
  forbid(accountId: string, forbidden = true): void {
    need(this.accounts.get(accountId), `account ${accountId}`).forbidden = forbidden;
  }

  deleteAudience(id: string): boolean {
    return this.audiences.delete(id);
  }

  private record(
    of: Entity,
    operation: Change['operation'],
    field: string,
    before: unknown,
    after: unknown,
  ): void {
    const live = this.campaigns.has(of.id) ? 'CAMPAIGN' : this.adSets.has(of.id) ? 'AD_SET' : 'CREATIVE';
    if (live === 'CREATIVE' && !this.ads.has(of.id)) return;
    this.changes.push({
      id: this.newId(),
      accountId: of.accountId,
      at: this.now(),
      entityType: live,
      entityId: of.id,
      entityName: of.name,
      operation,
      field,
      category: categories[field] ?? 'SETTINGS',
      before,
      after,
    });
  }

  // Drafts

  /** A draft campaign with one ad set and one ad, complete, none of them live. Gives their ids. */
  createDraft(
    accountId: string,
    name: string,
  ): { readonly campaign: string; readonly adSet: string; readonly ad: string } {
    const campaign = make.campaign(this.stamp(accountId), name);
    const adSet = make.adSet(this.stamp(accountId), `${name}, set`, {
      campaignId: campaign.id,
      budget: 12_345_678n,
      start: this.now(),
      targets: { geo_targets: { country_code: 'US' }, placements: ['MUSIC'] },
    });
    const ad = make.ad(this.stamp(accountId), `${name}, ad`, {
      adSetId: adSet.id,
      assetId: this.someAsset(accountId, 'AUDIO') ?? '',
      companionId: this.someAsset(accountId, 'IMAGE'),
      logoId: this.someAsset(accountId, 'IMAGE'),
      tagline: 'Soon',
    });
    this.putDraft({ kind: 'campaign', version: 1, of: campaign });
    this.putDraft({ kind: 'ad_set', of: adSet });
    this.putDraft({ kind: 'ad', of: ad });
    return { campaign: campaign.id, adSet: adSet.id, ad: ad.id };
  }

  /** A stamp for a draft of something new. */
  draftStamp(accountId: string): make.Stamp & { name: string; status: string } {
    return { ...this.stamp(accountId), name: '', status: 'ACTIVE' };
  }

  putDraft(draft: Draft): void {
    this.drafts.set(draft.of.id, draft);
    if (draft.kind !== 'campaign') this.touch(this.campaignOf(draft));
  }

  /** A draft of something live, under its id; what it stands under gets one too, where it has none. The draft there is stays. */
  draftOf(id: string): Draft {
    const known = this.drafts.get(id);
    if (known !== undefined) return known;
    const campaign = this.campaigns.get(id);
    const adSet = this.adSets.get(id);
    const ad = this.ads.get(id);
    if (adSet !== undefined) this.draftOf(adSet.campaignId);
    if (ad !== undefined) this.draftOf(ad.adSetId);
    const stamp = { status: 'ACTIVE_RESTRICTED', updatedAt: this.now() };
    const draft: Draft =
      campaign !== undefined
        ? { kind: 'campaign', version: 1, of: { ...unfinished(campaign), ...stamp } }
        : adSet !== undefined
          ? { kind: 'ad_set', of: { ...unfinished(adSet), ...stamp } }
          : // Ads have no such status.
            { kind: 'ad', of: { ...unfinished(need(ad, `live entity ${id}`)), updatedAt: this.now() } };
    this.putDraft(draft);
    return draft;
  }

  /** Changes a draft, and with it the version of its hierarchy. */
  editDraft(id: string, fields: Fields): void {
    const draft = need(this.drafts.get(id), `draft ${id}`);
    Object.assign(draft.of, fields, { updatedAt: this.now() });
    this.touch(this.campaignOf(draft));
  }

  /** The hierarchy of a draft campaign has changed. */
  touch(campaignId: string): void {
    const draft = this.drafts.get(campaignId);
    if (draft?.kind === 'campaign') draft.version += 1;
  }

  /** The draft campaign that a draft belongs to. */
  campaignOf(draft: Draft): string {
    if (draft.kind === 'campaign') return draft.of.id;
    if (draft.kind === 'ad_set') return draft.of.campaignId;
    const above = this.drafts.get(draft.of.adSetId);
    return above?.kind === 'ad_set' ? above.of.campaignId : '';
  }

  /** A draft campaign and the drafts below it, parents first. */
  hierarchy(campaignId: string): readonly Draft[] {
    const order = { campaign: 0, ad_set: 1, ad: 2 };
    return [...this.drafts.values()]
      .filter((draft) => this.campaignOf(draft) === campaignId)
      .sort((a, b) => order[a.kind] - order[b.kind]);
  }

  /** What keeps a draft campaign from going live. */
  flaws(campaignId: string): readonly Flaw[] {
    return flawsOf(this.hierarchy(campaignId));
  }

  /** Makes a draft campaign and everything below it live, under the same ids; the drafts are gone. Throws RangeError for one with flaws. */
  publish(campaignId: string): void {
    const drafts = this.hierarchy(campaignId);
    const [flaw] = flawsOf(drafts);
    if (flaw !== undefined) throw new RangeError(`${flaw.type} ${flaw.id}: ${flaw.message}`);
    for (const draft of drafts) {
      const live = finished(draft, this.now());
      const before = this.find(draft.of.id);
      const { pauses: _, createdAt: __, updatedAt: ___, ...fields } = live.of;
      if (before !== undefined) this.update(before.id, fields);
      else {
        if (live.kind === 'campaign') this.campaigns.set(live.of.id, live.of);
        else if (live.kind === 'ad_set') this.adSets.set(live.of.id, live.of);
        else this.ads.set(live.of.id, live.of);
        this.record(live.of, 'CREATED', 'name', undefined, live.of.name);
      }
      this.drafts.delete(draft.of.id);
    }
  }

  /** Deletes a draft and what stands under it. */
  deleteDraft(id: string): boolean {
    const draft = this.drafts.get(id);
    if (draft === undefined) return false;
    const campaign = this.campaignOf(draft);
    const below = (one: Draft): boolean =>
      draft.kind === 'campaign'
        ? this.campaignOf(one) === id
        : draft.kind === 'ad_set' && one.kind === 'ad' && one.of.adSetId === id;
    for (const gone of [...this.drafts.values()].filter(below)) this.drafts.delete(gone.of.id);
    this.drafts.delete(id);
    this.touch(campaign);
    return true;
  }

  // Numbers

  /**
   * From now on the platform tells this number of this row, exactly as written: restated, or wrong. No other level knows of it.
   * `when`: YYYY-MM-DD, or YYYY-MM-DDTHH for an hour.
   */
  restate(level: Level, id: string, when: string, field: string, text: string): void {
    const key = `${level} ${id} ${when}`;
    const fields = this.reported.get(key) ?? new Map<string, string>();
    fields.set(field, text);
    this.reported.set(key, fields);
  }

  /** Adds to the numbers of an ad on a day that it delivered (YYYY-MM-DD), for good: every level above tells it too. Micros. */
  correct(adId: string, date: string, more: Partial<Correction>): void {
    need(this.ads.get(adId), `ad ${adId}`);
    const at = Date.parse(`${date}T00:00:00Z`);
    const days = this.corrections.get(adId) ?? new Map<number, Correction>();
    const known = days.get(at) ?? { spend: 0n, revenue: 0n, counts: {} };
    const counts = { ...known.counts };
    for (const [name, value] of Object.entries(more.counts ?? {}))
      Object.assign(counts, { [name]: (Reflect.get(counts, name) ?? 0) + value });
    days.set(at, {
      spend: known.spend + (more.spend ?? 0n),
      revenue: known.revenue + (more.revenue ?? 0n),
      counts,
    });
    this.corrections.set(adId, days);
  }
}
