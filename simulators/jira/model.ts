/** What the simulated company consists of. Values; the state replaces them, never changes them. Instants are epoch milliseconds. */

export interface User {
  readonly accountId: string;
  readonly accountType: 'atlassian' | 'app' | 'customer';
  readonly displayName: string;
  /** Absent where the person keeps it private. */
  readonly email?: string;
  readonly timeZone?: string;
  readonly active: boolean;
}

export interface Group {
  readonly groupId: string;
  readonly name: string;
  /** accountIds, in the order of joining. */
  readonly members: readonly string[];
}

export interface Component {
  readonly id: string;
  readonly name: string;
}

export interface Version {
  readonly id: string;
  readonly name: string;
  readonly released: boolean;
  readonly archived: boolean;
  /** `YYYY-MM-DD` */
  readonly releaseDate: string;
}

export interface Project {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly typeKey: 'software' | 'service_desk' | 'business';
  readonly style: 'classic' | 'next-gen';
  readonly category: string | undefined;
  readonly leadId: string;
  readonly archived: boolean;
  /** True: these credentials may not see the project any more. */
  readonly hidden: boolean;
  readonly components: readonly Component[];
  readonly versions: readonly Version[];
}

export interface Status {
  readonly id: string;
  readonly name: string;
  readonly category: 'new' | 'indeterminate' | 'done';
}

export interface IssueType {
  readonly id: string;
  readonly name: string;
  readonly hierarchyLevel: -1 | 0 | 1;
}

export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface LinkType extends Named {
  readonly inward: string;
  readonly outward: string;
}

export interface Field {
  readonly id: string;
  readonly name: string;
  readonly custom: boolean;
  readonly schema: {
    readonly type: string;
    readonly items?: string;
    readonly system?: string;
    readonly custom?: string;
    readonly customId?: number;
  };
  /** Id of the only project that has the field; absent: all may have it. The vendor leaves such fields out of `/field/search`. */
  readonly scope?: string;
}

export interface Board {
  readonly id: number;
  readonly name: string;
  readonly type: 'scrum' | 'kanban' | 'simple';
  readonly projectId: string;
  /** Sprints shown on this board besides its own. */
  readonly shows: readonly number[];
  /** True: these credentials may not see the board, though they may see issues of its sprints. */
  readonly hidden?: boolean;
}

export interface Sprint {
  readonly id: number;
  readonly name: string;
  readonly state: 'future' | 'active' | 'closed';
  /** The board it was made on. */
  readonly boardId: number;
  readonly goal: string;
  /** Absent while the sprint is not planned yet. */
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly complete: number | undefined;
}

/** A rich-text document as the vendor writes it. */
export type Adf = { readonly type: 'doc'; readonly version: 1; readonly content: readonly unknown[] };

export interface ChangeItem {
  readonly field: string;
  readonly fieldtype: 'jira' | 'custom';
  readonly fieldId: string;
  readonly from: string | null;
  readonly fromString: string | null;
  readonly to: string | null;
  readonly toString: string | null;
}

export interface Change {
  readonly id: string;
  /** Absent: somebody anonymous or gone. */
  readonly authorId: string | undefined;
  readonly at: number;
  readonly items: readonly ChangeItem[];
}

export interface Comment {
  readonly id: string;
  readonly authorId: string;
  readonly updateAuthorId: string;
  readonly body: Adf;
  readonly created: number;
  readonly updated: number;
}

export interface Worklog {
  readonly id: string;
  readonly authorId: string;
  readonly updateAuthorId: string;
  readonly comment: Adf | undefined;
  readonly started: number;
  readonly seconds: number;
  readonly created: number;
  readonly updated: number;
  /** Who may see it; absent: all who see the issue. */
  readonly visibility?: Visibility;
}

/** The members of a group or a project role. `isOurs`: the account that signs in is one of them. */
export interface Visibility {
  readonly type: 'group' | 'role';
  readonly value: string;
  readonly identifier: string;
  readonly isOurs: boolean;
}

/** Whether the account that signs in may see it. */
export const isShown = ({ visibility }: Worklog): boolean => visibility?.isOurs !== false;

export interface Link {
  readonly id: string;
  readonly typeId: string;
  readonly direction: 'inward' | 'outward';
  /** Issue id of the other end. */
  readonly otherId: string;
}

export interface Issue {
  readonly id: string;
  readonly projectId: string;
  readonly number: number;
  readonly typeId: string;
  readonly statusId: string;
  readonly priorityId: string;
  readonly resolutionId: string | null;
  readonly summary: string;
  readonly description: Adf | null;
  readonly creatorId: string;
  readonly reporterId: string | null;
  readonly assigneeId: string | null;
  readonly created: number;
  readonly updated: number;
  readonly resolved: number | null;
  /** `YYYY-MM-DD` */
  readonly due: string | null;
  readonly labels: readonly string[];
  readonly componentIds: readonly string[];
  readonly fixVersionIds: readonly string[];
  readonly parentId: string | null;
  readonly links: readonly Link[];
  /** In the order of joining. */
  readonly sprintIds: readonly number[];
  readonly storyPoints: number | null;
  readonly originalSeconds: number | null;
  readonly remainingSeconds: number | null;
  /** Custom fields by id; JSON values as the API shows them. `customfield_10020` (sprint) and `_10016` (points) are kept above. */
  readonly custom: Readonly<Record<string, unknown>>;
  /** Oldest first. */
  readonly history: readonly Change[];
  readonly comments: readonly Comment[];
  readonly worklogs: readonly Worklog[];
  /** Keys it had before it was moved, oldest first. */
  readonly oldKeys: readonly string[];
  /** Exact JSON texts (or bytes) served for fields, whatever the model says. */
  readonly raw?: ReadonlyMap<string, string | Buffer>;
}

/** Ids of custom fields that the model itself knows. */
export const SPRINT = 'customfield_10020';
export const POINTS = 'customfield_10016';
export const EPIC = 'customfield_10014';
export const FLAGGED = 'customfield_10021';

/** A document of one paragraph. */
export const adf = (...paragraphs: readonly string[]): Adf => ({
  type: 'doc',
  version: 1,
  content: paragraphs.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
});
