/** A question that analysts ask, and the one plain SELECT from `bi` that answers it. */
export interface Recipe {
  readonly title: string;
  /** What the answer shows, and what misleads. */
  readonly about: string;
  readonly sql: string;
}

export interface Chapter {
  readonly title: string;
  readonly recipes: readonly Recipe[];
}
