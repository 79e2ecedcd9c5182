import type { TrackerOptions } from '../../simulators/jira/server.ts';

/**
 * A company that is synced in under a second and has everything: boards that share sprints, moved issues, lists longer than a page.
 * Its clock moves only when a test moves it.
 */
export const smallSite = {
  issues: 150,
  projects: 3,
  users: 30,
  years: 0.25,
  now: new Date('2026-03-10T09:00:00Z'),
} as const satisfies TrackerOptions;

interface Dialect {
  readonly name: string;
  readonly options: TrackerOptions;
  readonly bare: boolean;
  /** Jira Data Center. */
  readonly server?: boolean;
}

/** The dialects of a tracker: the vendor's two, the contract's, and the contract's seven endpoints and nothing else. */
export const dialects = [
  { name: 'vendor', options: { ...smallSite, dialect: 'vendor' }, bare: false },
  { name: 'contract', options: { ...smallSite, dialect: 'contract' }, bare: false },
  { name: 'Data Center', options: { ...smallSite, dialect: 'data-center' }, bare: false, server: true },
  { name: 'bare contract', options: { ...smallSite, dialect: 'contract', bare: true }, bare: true },
] as const satisfies readonly Dialect[];
