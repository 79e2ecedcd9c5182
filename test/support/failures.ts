import { afterEach } from 'vitest';
import { noteFailure } from './postgres.ts';

afterEach(({ task }) => {
  if (task.result?.state === 'fail') noteFailure(task.name);
});
