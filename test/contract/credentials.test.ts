import { expect, test } from 'vitest';
import { status } from '../../simulators/shared/faults.ts';
import { AuthFailed } from '../../src/core/errors.ts';
import { basic } from '../../src/http/auth.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { readListsOfSprints, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

test.each(dialects.filter(({ name }) => name !== 'contract'))(
  'wrong or revoked credentials write and delete nothing ($name)',
  async (dialect) => {
    const rig = await testRig({ ...dialect.options, issues: 60 });
    await rig.sync();
    const before = await fingerprint(rig);
    const { email, token } = rig.tracker;
    for (const auth of [
      basic(email, { reveal: () => 'not-the-token' }),
      basic('somebody.else@example.com', { reveal: () => token }),
    ]) {
      const settings = { auth };
      await expect(rig.sync({}, { settings })).rejects.toThrow(AuthFailed);
      await expect(rig.sync({ full: true }, { settings })).rejects.toThrow(AuthFailed);
      await expect(rig.reconcile({}, { settings })).rejects.toThrow(AuthFailed);
    }
    expect(await fingerprint(rig)).toEqual(before);
    const failed = 'select distinct status, error_code from ops.runs where error_code is not null';
    expect(await rig.rows(failed)).toEqual([{ status: 'failed', error_code: 'auth' }]);

    // Revoked in the middle of a run; the next run with a good token continues.
    rig.tracker.clock.advance(1000);
    rig.tracker.state.create('PAY');
    readListsOfSprints(rig);
    const isSprint = ({ path }: { readonly path: string }) => /sprint\/\d+\/issue$/.test(path);
    let left = 3;
    const match = (request: { readonly path: string }) => left <= 0 || (isSprint(request) && --left <= 0);
    const revoked = rig.tracker.script.at({ match, times: Infinity }, status(401));
    await expect(rig.sync()).rejects.toThrow(AuthFailed);
    expect(revoked.fired).toBeGreaterThan(0);
    revoked.cancel();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, dialect)).toEqual([]);
  },
);
