/** The cookbook: questions that analysts ask, each answered by one plain SELECT. Written to docs/bi/cookbook.md by `npm run docs`. */
import { advertising } from './cookbook/advertising.ts';
import { flow } from './cookbook/flow.ts';
import { operations } from './cookbook/operations.ts';
import type { Chapter, Recipe } from './cookbook/recipe.ts';
import { sprints } from './cookbook/sprints.ts';

export const chapters: readonly Chapter[] = [flow, sprints, advertising, operations];

export const recipes: readonly Recipe[] = chapters.flatMap((chapter) => chapter.recipes);

const head = `# Cookbook

Written by \`npm run docs\` from \`docs/bi/cookbook/\`; do not edit it by hand. Each question is one SELECT from the schema \`bi\`, to be pasted
into psql or a BI tool; put your own project for \`WEB\`. A test runs each of them on the demo's company and compares the answer with one that
is computed from the tables of the sources in another way. What the numbers mean: [warehouse.md](../warehouse.md).
`;

/** The page as it must stand in docs/bi/cookbook.md. */
export const cookbookPage = (): string =>
  [
    head,
    ...chapters.map(({ title, recipes: own }) => `- [${title}](#${anchor(title)}): ${own.length} questions`),
    '',
    ...chapters.flatMap((chapter) => [`## ${chapter.title}`, '', ...chapter.recipes.flatMap(entry)]),
  ].join('\n');

const anchor = (title: string): string => title.toLowerCase().replaceAll(' ', '-');

const entry = ({ title, about, sql }: Recipe): readonly string[] => [
  `### ${title}`,
  '',
  about,
  '',
  '```sql',
  sql,
  '```',
  '',
];
