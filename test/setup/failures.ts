import { afterEach } from 'vitest';
import { noteFailure } from '../support/postgres.ts';

afterEach(({ task }) => {
  if (task.result?.state === 'fail') noteFailure(task.name);
});
