import { afterEach, beforeAll } from 'vitest';
import { forgetFailures, noteFailure } from './postgres.ts';

beforeAll(forgetFailures);

afterEach(({ task }) => {
  if (task.result?.state === 'fail') noteFailure(task.name);
});
