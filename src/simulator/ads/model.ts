/** What the simulated advertisers have. Money is bigint micros, instants are epoch milliseconds; how it is written is json.ts's business. */

export interface Account {
  readonly id: string;
  readonly businessId: string;
  name: string;
  readonly currency: string;
  readonly country: string;
  /** 403 for everything of it. */
  forbidden: boolean;
}

interface Named {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: number;
  updatedAt: number;
  name: string;
  status: string;
}

export interface Campaign extends Named {
  objective: string;
}

export interface AdSet extends Named {
  campaignId: string;
  budget: bigint;
  budgetType: 'DAILY' | 'LIFETIME';
  bid: bigint;
  start: number;
  end: number | undefined;
  /** As the API writes them. */
  targets: Readonly<Record<string, unknown>>;
  caps: readonly Readonly<Record<string, unknown>>[];
}

export interface Ad extends Named {
  adSetId: string;
  assetId: string;
  tagline: string;
}

export interface Asset extends Named {
  readonly type: 'AUDIO' | 'IMAGE' | 'VIDEO';
  archived: boolean;
}

export interface Audience extends Named {
  readonly type: 'CUSTOM' | 'LOOKALIKE';
  size: number;
}

/** A draft of one of the three kinds; published, it becomes the live entity of the same id. */
export type Draft =
  | { readonly kind: 'campaign'; version: number; readonly of: Campaign }
  | { readonly kind: 'ad_set'; readonly of: AdSet }
  | { readonly kind: 'ad'; readonly of: Ad };

/** A change of a live entity, as the vendor's history tells it. */
export interface Change {
  readonly id: string;
  readonly accountId: string;
  readonly at: number;
  readonly entityType: 'CAMPAIGN' | 'AD_SET' | 'AD';
  readonly entityId: string;
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

export type Level = 'AD_ACCOUNT' | 'CAMPAIGN' | 'AD_SET' | 'AD';
