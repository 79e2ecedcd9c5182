import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { AuthFailed } from '../../src/core/errors.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { tongues } from '../support/small-site.ts';

describe.each(tongues)(
  'credentials that a tracker of the tongue $tongue does not accept',
  ({ options, bare }) => {
    let rig: Rig;
    let before: Readonly<Record<string, string>>;
    beforeAll(async () => {
      rig = await openRig({ ...options, issues: 60 });
      await rig.sync();
      before = await fingerprint(rig);
    });
    afterAll(() => rig.close());

    const wrong = [
      ['a wrong token', { apiToken: { reveal: () => 'not-the-token' } }],
      ['a wrong address', { email: 'somebody.else@example.com' }],
    ] as const;

    test.each(wrong)(
      '%s fails the sync and the reconciliation as what it is; nothing is written, nothing deleted',
      async (_, settings) => {
        await expect(rig.sync({}, { settings })).rejects.toThrow(AuthFailed);
        await expect(rig.sync({ full: true }, { settings })).rejects.toThrow(AuthFailed);
        await expect(rig.reconcile({}, { settings })).rejects.toThrow(AuthFailed);
        expect(await fingerprint(rig)).toEqual(before);
        const runs = await rig.rows(
          'select distinct status, error_code from ops.runs where error_code is not null',
        );
        expect(runs).toEqual([{ status: 'failed', error_code: 'auth' }]);
      },
    );

    test('a token that is revoked in the middle of a run ends it; the next run with a good one goes on', async () => {
      rig.tracker.clock.advance(1000);
      rig.tracker.state.create('PAY');
      const revoked = rig.tracker.script.at(
        { endpoint: '/rest/agile/1.0/sprint/{id}/issue', nth: 3, times: Infinity },
        status(401),
      );
      await expect(rig.sync()).rejects.toThrow(AuthFailed);
      expect(revoked.fired).toBeGreaterThan(0);
      revoked.cancel();
      expect((await rig.sync()).status).toBe('succeeded');
      expect(await differences(rig, { bare })).toEqual([]);
    });
  },
);
