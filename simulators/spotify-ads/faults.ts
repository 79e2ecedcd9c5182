/** Ways of going wrong that only this platform has; the rest are in ../shared/faults.ts. */

import { type Fault, status } from '../shared/faults.ts';
import { wholeOf } from '../shared/http.ts';
import { tooMany } from './limits.ts';

/** 429, once: `says` how it tells the wait of so many seconds. */
export const rateLimited = (seconds: number, says: 'reset' | 'retry-after' | 'nothing' = 'reset'): Fault => ({
  name: `429 (${says})`,
  instead: () => {
    const answer = tooMany(says, 150, seconds);
    return { ...answer, body: wholeOf(answer.body) };
  },
});

/** Any status with an error of the platform. */
export const refusal = (code: number, message = `simulated ${code}`): Fault => ({
  ...status(code, {
    body: JSON.stringify({
      sp_trace_id: '00000000-0000-4000-a000-000000000bad',
      messages: [message],
      error_codes: [{ code: `SIMULATED_${code}`, definition: message }],
    }),
  }),
  name: `refusal ${code}`,
});

const json = (name: string, change: (body: Record<string, unknown>) => void): Fault => ({
  name,
  answer: (answer) => {
    const body: Record<string, unknown> = JSON.parse(answer.body.toString());
    change(body);
    return { ...answer, body: Buffer.from(JSON.stringify(body)) };
  },
});

/** A list states another total than the true one. Amounts beyond a double do not survive this. */
export const wrongTotal = (change: (total: number) => number): Fault =>
  json('wrong total', (body) => {
    const paging: unknown = body.paging;
    if (typeof paging !== 'object' || paging === null) return;
    Object.assign(paging, { total_results: change(Number(Reflect.get(paging, 'total_results'))) });
  });

/** The page is empty; a total or a token stays. */
export const emptied: Fault = json('emptied', (body) => {
  for (const [key, value] of Object.entries(body))
    if (Array.isArray(value) && key !== 'warnings') body[key] = [];
});

/** The report sends the client to this token, again and again. */
export const sameToken = (token: string): Fault =>
  json('same token', (body) => {
    body.continuation_token = token;
  });
