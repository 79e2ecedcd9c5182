import { expect, test } from 'vitest';
import { caught, Forbidden, isOf, Missing, TidemarkError, TooOld } from '../../../src/core/errors.ts';

const missing = new Missing('gone', 404);

test('an error of one of the kinds becomes the result, also of a class below one', async () => {
  const older = new TooOld('older than two weeks');
  await expect(Promise.reject(missing).catch(caught(Forbidden, Missing))).resolves.toBe(missing);
  await expect(Promise.reject(older).catch(caught(Missing))).resolves.toBe(older);
  await expect(Promise.reject(missing).catch(caught(TidemarkError))).resolves.toBe(missing);
});

test('any other error is thrown as it is', async () => {
  const defect = new TypeError('no such member');
  await expect(Promise.reject(missing).catch(caught(Forbidden))).rejects.toBe(missing);
  await expect(Promise.reject(defect).catch(caught(TidemarkError))).rejects.toBe(defect);
  expect([missing, 'text', undefined].map(isOf(Forbidden, Missing))).toEqual([true, false, false]);
});
