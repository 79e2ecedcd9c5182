import {
  dropAfterwards,
  empty200,
  type Fault,
  htmlPage,
  resetAt,
  resetBeforeHeaders,
  shortPage,
  status,
  tooManyRequests,
  truncatedJson,
  unauthorised,
} from '../../simulators/shared/faults.ts';

/** What may go wrong on the way, whatever the source. */
export const faultNames = [
  '500',
  '503 for a while',
  '429',
  '401',
  'reset before headers',
  'reset in the body',
  'truncated JSON',
  'html page',
  'short page',
  'empty 200',
  'dropped afterwards',
] as const;

/** Each with how often it happens in a row. */
export const faults: Readonly<Record<(typeof faultNames)[number], readonly [Fault, number]>> = {
  500: [status(500), 1],
  '503 for a while': [status(503), 14],
  429: [tooManyRequests(0), 2],
  401: [unauthorised, 1],
  'reset before headers': [resetBeforeHeaders, 1],
  'reset in the body': [resetAt(40), 1],
  'truncated JSON': [truncatedJson(), 1],
  'html page': [htmlPage, 1],
  'short page': [shortPage(1), 1],
  'empty 200': [empty200, 1],
  'dropped afterwards': [dropAfterwards, 1],
};
