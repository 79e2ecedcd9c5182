import type { Clock } from '../shared/clock.ts';
import type { Dialect } from './dialect.ts';
import type { Entities } from './entities.ts';
import type { Fragments } from './fragments.ts';
import type { IssueWriter } from './issue-json.ts';
import type { Issue } from './model.ts';
import type { Found, Hit } from './search.ts';
import type { TrackerState } from './state.ts';

/** What the routes need: the tracker's state and how it is shown. */
export interface Site {
  readonly state: TrackerState;
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly entities: Entities;
  readonly writer: IssueWriter;
  readonly fragments: Fragments;
  readonly base: string;
  /** True: only the contract's endpoints exist, and nothing they do not promise is understood. */
  readonly bare: boolean;
  /** Runs a query over what the search index shows now, but for the positions in `fresh`. Throws a refusal for one it cannot run. */
  find(jql: string, fresh?: readonly number[]): Found;
  /** The issues of a sprint that the account may see, in board order. */
  members(sprintId: number): readonly Hit[];
  /** The issue that the account may see by id, key or old key; undefined where there is none. */
  seen(idOrKey: string): Issue | undefined;
  /** The same; throws a 404. */
  visible(idOrKey: string): Issue;
  /** How long a page token lives, ms of the tracker's clock, and what is answered for an older one. */
  readonly tokens: { readonly lifetimeMs: number; readonly expired: 400 | 410 };
}
