/** What the simulated advertisers have. Money is bigint micros, instants are epoch milliseconds; how it is written is json.ts's business. */

export interface Business {
  readonly id: string;
  readonly createdAt: number;
  updatedAt: number;
  name: string;
  type: string;
}

export interface Account {
  readonly id: string;
  readonly businessId: string;
  readonly createdAt: number;
  updatedAt: number;
  name: string;
  status: string;
  readonly currency: string;
  readonly country: string;
  industry: string;
  website: string | undefined;
  /** 403 for everything of it. */
  forbidden: boolean;
}

export interface Named {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: number;
  updatedAt: number;
  name: string;
  status: string;
}

/** From when until when something that can deliver did not, epoch ms; without an end: until now. */
export interface Pause {
  readonly from: number;
  to: number | undefined;
}

export interface Campaign extends Named {
  objective: string;
  goal: string;
  purchaseOrder: string | undefined;
  readonly pauses: Pause[];
}

export interface AdSet extends Named {
  campaignId: string;
  budget: bigint;
  budgetType: 'DAILY' | 'LIFETIME';
  bid: bigint;
  bidStrategy: string;
  costModel: string;
  assetFormat: string;
  category: string;
  pacing: string;
  delivery: string;
  start: number;
  end: number | undefined;
  /** As the API writes them. */
  targets: Readonly<Record<string, unknown>>;
  caps: readonly Readonly<Record<string, unknown>>[];
  readonly pauses: Pause[];
}

export interface Ad extends Named {
  adSetId: string;
  assetId: string;
  companionId: string | undefined;
  logoId: string | undefined;
  tagline: string;
  advertiser: string;
  delivery: string;
  callToAction: { readonly key: string; readonly url: string };
  readonly pauses: Pause[];
}

export interface Asset extends Named {
  readonly type: 'AUDIO' | 'IMAGE' | 'VIDEO';
  archived: boolean;
}

export interface Audience extends Named {
  readonly type: 'CUSTOM' | 'LOOKALIKE';
  readonly subtype: string;
  readonly seedId: string | undefined;
  lookbackDays: number | undefined;
  size: number;
}

/** A draft may lack what its live twin must have. */
export type Unfinished<T extends Named> = Pick<T, keyof Named> & {
  [K in Exclude<keyof T, keyof Named>]?: T[K] | undefined;
};

export type CampaignDraft = Unfinished<Campaign>;
export type AdSetDraft = Unfinished<AdSet> & { readonly campaignId: string };
export type AdDraft = Unfinished<Ad> & { readonly adSetId: string };
/** A draft of one of the three kinds; published, it becomes the live entity of the same id. */
export type Draft =
  | { readonly kind: 'campaign'; version: number; of: CampaignDraft }
  | { readonly kind: 'ad_set'; of: AdSetDraft }
  | { readonly kind: 'ad'; of: AdDraft };

/** What is wrong with a draft that is to go live. */
export interface Flaw {
  readonly type: 'CAMPAIGN' | 'AD_SET' | 'AD';
  readonly id: string;
  readonly message: string;
}

/** A change of a live entity, as the vendor's history tells it; `before` and `after` as the API writes the field. */
export interface Change {
  readonly id: string;
  readonly accountId: string;
  readonly at: number;
  readonly entityType: 'CAMPAIGN' | 'AD_SET' | 'CREATIVE' | 'AD_ACCOUNT';
  readonly entityId: string;
  readonly entityName: string;
  readonly operation: 'CREATED' | 'CHANGED' | 'REMOVED';
  readonly field: string;
  readonly category: string;
  readonly before: unknown;
  readonly after: unknown;
}

export type Level = 'AD_ACCOUNT' | 'CAMPAIGN' | 'AD_SET' | 'AD';
export const levels: readonly Level[] = ['AD_ACCOUNT', 'CAMPAIGN', 'AD_SET', 'AD'];

export type JobStatus = 'PROCESSING' | 'READY' | 'FAILED' | 'EXPIRED';

/** A report that is asked for by name and made in its own time. */
export interface Job {
  readonly id: string;
  readonly accountId: string;
  readonly submittedAt: number;
  readonly name: string;
  readonly granularity: 'DAY' | 'LIFETIME';
  readonly dimensions: readonly string[];
  readonly metrics: readonly string[];
  readonly statuses: ReadonlySet<string>;
  readonly campaignIds: ReadonlySet<string>;
  /** Midnights, epoch ms; `to` is exclusive. Of LIFETIME reports without dates: everything. */
  readonly from: number;
  readonly to: number;
  /** How often it was looked after. */
  polls: number;
  /** What it becomes; settable at any time. */
  outcome: JobStatus;
}
