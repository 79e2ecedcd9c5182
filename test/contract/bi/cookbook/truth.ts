import type { World } from './world.ts';

export type Rows = readonly (readonly unknown[])[];

/** The answer of a question by other means: in TypeScript from rows as the sources have them, or by SQL to their tables. */
export type Truth = string | ((world: World) => Rows);

/** By the title of the question. */
export type Truths = Readonly<Record<string, Truth>>;
