import fastify, { type FastifyInstance } from 'fastify';
import type { TrackerOptions } from '../../../../simulators/jira/server.ts';
import type { Channel } from '../../../../src/outbound/channel.ts';
import { sendTest } from '../../../../src/outbound/deliver.ts';
import type { Control } from '../../../../src/scheduler/control.ts';
import { dashboard } from '../../../../src/server/dashboard/dashboard.ts';
import type { DashboardDeps } from '../../../../src/server/dashboard/layout.ts';
import { configOf } from '../../../support/config.ts';
import { openRig, type Rig } from '../../../support/rig.ts';
import { smallSite } from '../../../support/small-site.ts';
import { openTestControl, type TestControl } from './control.ts';

/** A dashboard on a real port, over a warehouse that real runs fill. */
export interface Scene extends Pick<TestControl, 'asked' | 'idle'> {
  readonly rig: Rig;
  readonly control: Control;
  readonly app: FastifyInstance;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Errors of ours that the dashboard reported. */
  readonly troubles: readonly string[];
  /** A second dashboard of the same warehouse, with other tokens; closed with the scene. */
  beside(tokens: Tokens): Promise<FastifyInstance>;
  close(): Promise<void>;
}

type Tokens = Pick<SceneOptions, 'token' | 'readToken'>;

export interface SceneOptions {
  readonly token?: string;
  readonly readToken?: string;
  readonly tracker?: TrackerOptions;
  readonly now?: () => Date;
  /** Where messages go; nowhere unless given. */
  readonly channels?: readonly Channel[];
  /** What the dashboard is given in place of what the sources need tonight. */
  readonly planned?: (tonight: TestControl['tonight']) => ReturnType<TestControl['tonight']>;
}

/** What is configured: a tracker alone. */
const settings = configOf(
  {
    TRACKER_BASE_URL: 'https://tracker.example',
    TRACKER_EMAIL: 'reader@tracker.example',
    TRACKER_API_TOKEN: 'a token that no page shows',
    TIDEMARK_PORT: '9000',
  },
  import.meta.dirname,
);

/** A dashboard that does not listen yet. */
export async function dashboardOf(
  deps: Omit<DashboardDeps, 'version' | 'settings'>,
): Promise<FastifyInstance> {
  const app = fastify({ logger: false });
  await app.register(dashboard, { ...deps, settings, version: 'test' });
  return app;
}

export async function openScene({
  tracker = {},
  now = () => new Date(),
  channels = [],
  planned = (tonight) => tonight(),
  ...tokens
}: SceneOptions = {}): Promise<Scene> {
  const rig = await openRig({ ...smallSite, dialect: 'vendor', ...tracker });
  const { control, asked, idle, close, tonight, replay } = await openTestControl(rig);
  const troubles: string[] = [];
  const apps: FastifyInstance[] = [];
  const beside = async ({ token, readToken }: Tokens): Promise<FastifyInstance> => {
    const app = await dashboardOf({
      control,
      db: rig.database.warehouse.db,
      tokens: { operate: token, read: readToken },
      now,
      tonight: () => planned(tonight),
      replay,
      sendTests: () => sendTest(channels, new AbortController().signal, rig.database.warehouse.db),
      trouble: (what: string, error?: unknown) =>
        troubles.push(error === undefined ? what : `${what}: ${String(error)}`),
    });
    apps.push(app);
    return app;
  };
  const app = await beside(tokens);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    rig,
    control,
    asked,
    idle,
    app,
    url,
    troubles,
    beside,
    async close() {
      for (const each of apps) await each.close();
      await close();
      await rig.close();
    },
  };
}
