/** Which dimensions of insights a server does not have: the contract names none, and not every refusal says what it is about. */

import { Refused } from '../../../core/errors.ts';
import type { Failure } from '../failures.ts';
import { insightDimensions } from './fields.ts';
import { namedIn } from './names-field.ts';

/** What is asked of one entity. */
export interface Asked {
  readonly type: string;
  readonly dimension: string;
}

/** So many entities of a level are asked for a dimension that nobody of them was answered. */
const enough = 10;

export interface Dimensions<Question extends Asked> {
  /** Whether there is any use in asking for it. */
  readonly isAsked: (question: Question) => boolean;
  readonly answered: (question: Question) => void;
  /** Whether a failure may be the dimension's: then it is kept for `unexplained`. */
  readonly refused: (question: Question, failure: Failure) => boolean;
  /** Whether all dimensions of a level have been refused, and nobody was ever answered: it is not for the dimensions. */
  readonly isHopeless: () => boolean;
  /**
   * The refusals that are not for their dimension. One that none of its level was ever answered is not there, where others are. What is refused of
   * some is theirs.
   */
  readonly unexplained: () => readonly { readonly question: Question; readonly failure: Failure }[];
  /** Those that the server does not have, each with its level. */
  readonly lacked: () => readonly string[];
}

/** `before`: what was answered by other runs. */
export const dimensionsAsked = <Question extends Asked>(before: readonly Asked[]): Dimensions<Question> => {
  const known = new Set(before.map(words));
  const levels = new Set(before.map(({ type }) => type));
  const lacked = new Set<string>();
  const answered = new Set<string>();
  const refused = new Map<string, { readonly question: Question; readonly failure: Failure }[]>();
  return {
    isAsked: (question) =>
      !lacked.has(words(question)) &&
      (answered.has(words(question)) || (refused.get(words(question))?.length ?? 0) < enough),
    answered(question) {
      answered.add(words(question));
      levels.add(question.type);
    },
    refused(question, failure) {
      if (!(failure instanceof Refused) || failure.status !== 400) return false;
      if (namedIn(failure.messages, [question.dimension]).length > 0) lacked.add(words(question));
      else refused.set(words(question), [...(refused.get(words(question)) ?? []), { question, failure }]);
      return true;
    },
    isHopeless: () => levels.size === 0 && refused.size >= insightDimensions.length,
    unexplained() {
      const theirs = [];
      for (const [name, some] of refused) {
        const isOf = some.some(({ question }) => levels.has(question.type));
        if (isOf && !answered.has(name) && !known.has(name)) lacked.add(name);
        else theirs.push(...some);
      }
      return theirs;
    },
    lacked: () => [...lacked],
  };
};

const words = ({ type, dimension }: Asked): string => `${dimension} (${type})`;
