/** What a refusal of names says that the server lacks: messages name what is refused, or all that is taken, or both. */

import { namedIn } from './names-field.ts';

/** Names one behind another. */
const listed = /\b[A-Z][A-Z0-9_]*\b(?:(?:[\s,|/"'`]|\band\b|\bor\b)+[A-Z][A-Z0-9_]*\b)+/g;
/** What stands behind a list that goes on. */
const cutOff = /^[\s,]*(?:…|\.\.\.)/;
/** Words of a message that tells what is taken. */
const taking = /accept|allow|valid|support|permit|possible|expect|one of|any of|must|only/i;

interface Listed {
  readonly names: readonly string[];
  /** Whether it may be all that the server takes. */
  readonly isWhole: boolean;
}

/** The longest list of names that the messages hold. */
const longestIn = (messages: readonly string[], asked: readonly string[]): Listed => {
  const found = messages.flatMap((message) =>
    [...message.matchAll(listed)].map(({ 0: text, index }) => ({
      names: namedIn([text], asked),
      isWhole: taking.test(message) && !cutOff.test(message.slice(index + text.length)),
    })),
  );
  return found.reduce((longest, one) => (one.names.length > longest.names.length ? one : longest), {
    names: [],
    isWhole: false,
  });
};

/**
 * Those of the names that the server does not have, by its messages; undefined where they cannot be told, or where they would be ones that nothing
 * can do without. A name beside a list is what is refused, for one at a time is told; a list that has all that is indispensable is what there is,
 * and any other one is what there is not.
 */
export const lackedIn = (
  messages: readonly string[],
  asked: readonly string[],
  indispensable: ReadonlySet<string>,
): readonly string[] | undefined => {
  const named = namedIn(messages, asked);
  const { names, isWhole } = longestIn(messages, asked);
  const spare = (some: readonly string[]): readonly string[] =>
    some.filter((name) => !indispensable.has(name));
  if (names.length < 2) return named.length > 0 && spare(named).length === 0 ? undefined : spare(named);
  const beside = named.filter((name) => !names.includes(name));
  if (beside.length > 0) return spare(beside).length < beside.length ? undefined : beside;
  if (spare(names).length === names.length) return names;
  const hasAll = asked.every((name) => names.includes(name) || !indispensable.has(name));
  return hasAll && isWhole ? asked.filter((name) => !names.includes(name)) : undefined;
};
