import type { ServerDeps } from '../api/deps.ts';
import type { PageContext } from './layout.ts';

/** What the dashboard is built from. It changes something by `control` alone. Without `tokens` it answers this machine only, without signing in. */
export interface DashboardDeps extends Pick<ServerDeps, 'control' | 'db' | 'tokens' | 'version' | 'trouble'> {
  readonly now: () => Date;
}

/** A request for a page, with everything that makes the page. */
export interface PageRequest extends DashboardDeps {
  readonly view: PageContext;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly all: (name: string) => readonly string[];
  readonly param: (name: string) => string;
  /** Aborts when the reader leaves. */
  readonly signal: AbortSignal;
}
