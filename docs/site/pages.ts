/** The pages of the site, in the order of its menu. */
import { globSync } from 'node:fs';
import path from 'node:path';

export interface Group {
  readonly title: string;
  /** Paths below the repository. */
  readonly pages: readonly string[];
}

const below = (folder: string, names: string): readonly string[] =>
  names.split(' ').map((name) => `${folder}/${name}.md`);

const chosen: readonly Group[] = [
  { title: 'Begin', pages: ['README.md', 'docs/concepts.md'] },
  {
    title: 'Connect',
    pages: below(
      'docs/guides',
      'jira-cloud jira-data-center spotify-ads dagu pipelines several-sites postgres',
    ),
  },
  {
    title: 'Run',
    pages: below('docs/guides', 'serve deploy alerts traces reading backfills deletions upgrade backup'),
  },
  { title: 'Find what is wrong', pages: below('docs/guides', 'jira-numbers troubleshooting') },
  {
    title: 'Query',
    pages: [
      'docs/warehouse.md',
      ...below(
        'docs/bi',
        'README cookbook metrics readers metabase superset grafana power-bi tableau dbt duckdb',
      ),
    ],
  },
  {
    title: 'Reference',
    pages: [
      'docs/operations.md',
      ...below('docs/reference', 'cli variables exit-codes metrics'),
      'docs/streams.md',
      'docs/connectors.md',
      'CHANGELOG.md',
    ],
  },
  {
    title: 'Inside',
    pages: [
      ...below('docs', 'guarantees architecture decisions performance peers scaling'),
      'CONTRIBUTING.md',
      'SECURITY.md',
      'test/README.md',
    ],
  },
];

/** Pages below docs that have no place yet. */
const others = globSync('docs/**/*.md', { cwd: path.resolve(import.meta.dirname, '../..') })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => !chosen.some((group) => group.pages.includes(name)))
  .sort();

export const groups: readonly Group[] =
  others.length === 0 ? chosen : [...chosen, { title: 'More', pages: others }];

export const pages: readonly string[] = groups.flatMap((group) => group.pages);

/** Where the page of this Markdown is in the site; a README is the index of its folder. */
export const htmlOf = (page: string): string =>
  page.replace(/(README)?\.md$/, (_, readme) => (readme ? 'index.html' : '.html'));
