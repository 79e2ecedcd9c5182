import { expect, test } from 'vitest';
import { errorText } from '../../../src/core/describe-error.ts';
import * as errors from '../../../src/core/errors.ts';

/** Each class that says its code itself: a record that is rejected never ends a command. */
const classes = Object.entries(errors).filter(
  ([name, each]) =>
    typeof each === 'function' &&
    each.prototype instanceof errors.TidemarkError &&
    name !== errors.BadData.name,
) as [string, new (message: string) => errors.TidemarkError][];

test.each(classes)('an error of the class %s says what is wrong and what to do', (_, Kind) => {
  const { code, message } = new Kind('the source went away.');
  expect(code).toMatch(/^[a-z_]+$/);
  const text = errorText(code, message);
  expect(text).toMatch(/^the source went away · [a-z].{10,}$/);
});

test('there are all classes', () => {
  expect(classes.length).toBeGreaterThan(20);
});

test('a message that says what to do keeps its own words, and a list of problems is followed by a line', () => {
  expect(errorText('misconfigured', 'no pipeline x · there are a, b')).toBe('no pipeline x · there are a, b');
  expect(errorText('misconfigured', 'two problems:\n  A\n  B')).toBe(
    'two problems:\n  A\n  B\n  · correct that and try again',
  );
  expect(errorText('no such code', 'x')).toBe('x · try again: what was committed stays');
});
