import { expect, test } from 'vitest';
import { combinedReport } from '../../../src/cli/combined.ts';
import { AuthFailed, Fenced } from '../../../src/core/errors.ts';

test('what kept a part from its end names its pipeline once', () => {
  const { error } = combinedReport(
    'nightly',
    'sync',
    [
      { pipeline: 'ads', error: new Fenced('ads: another process took the lease') },
      { pipeline: 'tracker', error: new AuthFailed('the token is not accepted') },
    ],
    1,
  );
  expect(error).toEqual({
    code: 'fenced',
    message: 'ads: another process took the lease; tracker: the token is not accepted',
  });
});
