import fastify, { type FastifyInstance } from 'fastify';
import { dashboard } from '../../src/server/dashboard/dashboard.ts';
import type { TrackerOptions } from '../../src/simulator/tracker/server.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';
import { type TestControl, testControl } from './control.ts';

/** A dashboard on a real port, over a warehouse that real runs fill. */
export interface Scene {
  readonly rig: Rig;
  readonly control: TestControl;
  readonly app: FastifyInstance;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  close(): Promise<void>;
}

export interface SceneOptions {
  readonly token?: string;
  readonly tracker?: TrackerOptions;
  readonly now?: () => Date;
}

export async function openScene({ token, tracker = {}, now = () => new Date() }: SceneOptions = {}): Promise<Scene> {
  const rig = await openRig({ ...smallSite, dialect: 'vendor', ...tracker });
  const control = testControl(rig, now);
  const app = fastify({ logger: false });
  await app.register(dashboard, {
    control,
    db: rig.database.warehouse.db,
    now,
    version: 'test',
    pulseMs: 100,
    ...(token === undefined ? {} : { token }),
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    rig,
    control,
    app,
    url,
    async close() {
      await app.close();
      await control.close();
      await rig.close();
    },
  };
}
