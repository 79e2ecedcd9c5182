/** What to do about how the engine refuses a login: by a header, mostly without a body (measured on 1.30.2). */

import type { Advice } from '../../http/advice.ts';

export const advice: readonly Advice[] = [
  [/^www-auth.*: *Basic/im, 'set WORKFLOW_USERNAME and WORKFLOW_PASSWORD, or its token as WORKFLOW_TOKEN'],
  // Dagu 2, where auth.mode is builtin unless it is set: its middleware, and ErrorCode of its OpenAPI.
  [
    /^www-auth.*: *Bearer|auth\.(un|token)/im,
    'set WORKFLOW_TOKEN to an API key (Dagu with auth.mode builtin)',
  ],
  [/auth\.forbidden/i, 'the role of this API key does not allow it'],
];
