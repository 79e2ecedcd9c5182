import { describe, expect, test } from 'vitest';
import { Forbidden, HasNone, Missing, Refused, Transient } from '../../../src/core/errors.ts';
import { confirmed, type Outcome, outcomeOf, type Refusal, ShownLess } from '../../../src/engine/verify.ts';

type Case = readonly [
  answer: Refusal['answer'],
  of: Refusal['of'],
  endpoint: Refusal['endpoint'],
  sibling: boolean,
  wasThere: boolean,
  outcome: Outcome,
];

/** The promises of docs/operations.md, "Missing and forbidden". */
const promises: readonly Case[] = [
  // A 403 of a whole stream: a fact about an optional endpoint, a failure of a promised one.
  ['forbidden', 'stream', 'optional', false, false, 'forbidden'],
  ['forbidden', 'stream', 'promised', false, false, 'failed'],
  ['forbidden', 'stream', 'optional', false, true, 'forbidden'],
  ['forbidden', 'stream', 'promised', false, true, 'failed'],
  // A 403 of one owner beside others: the owner waits.
  ['forbidden', 'owner', 'promised', true, false, 'wait'],
  ['forbidden', 'owner', 'promised', true, true, 'wait'],
  ['forbidden', 'owner', 'optional', true, false, 'wait'],
  // A 403 of every owner.
  ['forbidden', 'owner', 'promised', false, false, 'failed'],
  ['forbidden', 'owner', 'optional', false, false, 'wait'],
  // A missing endpoint.
  ['missing', 'stream', 'promised', false, false, 'failed'],
  ['missing', 'stream', 'promised', false, true, 'failed'],
  ['missing', 'stream', 'optional', false, false, 'unavailable'],
  ['missing', 'stream', 'optional', false, true, 'failed'],
  // A missing owner: it may have been deleted, where another owner answers.
  ['missing', 'owner', 'promised', true, false, 'gone'],
  ['missing', 'owner', 'optional', true, true, 'gone'],
  ['missing', 'owner', 'promised', false, false, 'failed'],
  ['missing', 'owner', 'optional', false, false, 'unavailable'],
];

test.each(promises)('%s of one %s, %s, another owner answers: %s, has days: %s: %s', (...row) => {
  const [answer, of, endpoint, sibling, wasThere, outcome] = row;
  expect(outcomeOf({ answer, of, endpoint, sibling, wasThere })).toBe(outcome);
});

describe('a second request confirms', () => {
  const cases = [
    ['403', new Forbidden('no'), true],
    ['404', new Missing('no', 404), true],
    ['a refusal that says an owner has no list', new HasNone('none'), true],
    ['a list that is shorter than it was', new ShownLess('less'), true],
    ['400', new Refused('no', 400, []), false],
    ['503', new Transient('busy'), false],
  ] as const;

  test.each(cases)('%s: %s', async (_, error, isConfirmed) => {
    let requests = 0;
    const step = async () => {
      requests += 1;
      throw error;
    };
    await expect(confirmed(step)).rejects.toBe(error);
    expect(requests).toBe(isConfirmed ? 2 : 1);
  });

  test('two bad answers of different kinds conclude nothing, whichever comes first', async () => {
    const refused = new Forbidden('no');
    const less = new ShownLess('less');
    for (const first of [refused, less]) {
      const answers = [first, first === refused ? less : refused];
      const seen: unknown[] = [];
      const step = async (doubts: readonly Error[]) => {
        seen.push([...doubts]);
        const error = answers.shift();
        if (error !== undefined) throw error;
        return 'read';
      };
      const [one, other] = [...answers];
      expect(await confirmed(step)).toBe('read');
      expect(seen).toEqual([[], [one], [one, other]]);
    }
  });

  test('a single bad answer concludes nothing', async () => {
    const answers = [new Missing('a deployment', 404), undefined];
    const step = async () => {
      const error = answers.shift();
      if (error !== undefined) throw error;
      return 'read';
    };
    expect(await confirmed(step)).toBe('read');
  });
});
