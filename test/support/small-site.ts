import type { TrackerOptions } from '../../simulators/jira/server.ts';

/** A company that is synced in under a second, with everything in it: boards that share sprints, moved issues, lists longer than a page. Its clock stands. */
export const smallSite = {
  issues: 150,
  projects: 3,
  users: 30,
  years: 0.25,
  now: new Date('2026-03-10T09:00:00Z'),
} as const satisfies TrackerOptions;

/** The tongues a tracker may speak: the vendor's, the contract's, and the contract's with its seven endpoints and nothing else. */
export const tongues = [
  { tongue: 'vendor', options: { ...smallSite, dialect: 'vendor' }, bare: false },
  { tongue: 'contract', options: { ...smallSite, dialect: 'contract' }, bare: false },
  { tongue: 'bare contract', options: { ...smallSite, dialect: 'contract', bare: true }, bare: true },
] as const satisfies readonly {
  readonly tongue: string;
  readonly options: TrackerOptions;
  readonly bare: boolean;
}[];
