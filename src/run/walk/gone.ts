/** What it means that a list of an owner is not there: that the owner is gone, that the server has no such lists, or nothing at all. */

import { type Missing, SeemsMissing } from '../../core/errors.ts';
import type { Flow } from '../../core/stream.ts';
import type { OpenSlice } from '../books/slices.ts';

/** A slice whose owner answered 404. */
export interface Gone {
  readonly open: OpenSlice;
  readonly error: Missing;
}

/** So many owners without the list, and none with it: the server does not have the endpoint. */
const missesUntilUnavailable = 3;

/**
 * Whether 404s mean that the endpoint is missing (no owner has it), rather than that these owners were deleted a moment ago. Of an endpoint that
 * the contract promises, and of days, which are told of one owner in several slices, all are asked before that is believed. 405 and 501 speak of the
 * endpoint, however few owners there are.
 */
export const isUnavailable = ({ stream }: Flow, gone: readonly Gone[], answered: boolean, atEnd: boolean): boolean =>
  !answered &&
  (stream.promised
    ? atEnd && (gone.length >= missesUntilUnavailable || gone.every(({ error }) => isOfEndpoint(error)))
    : atEnd || (stream.days === undefined && gone.length >= missesUntilUnavailable));

const isOfEndpoint = ({ status }: Missing): boolean => status === 405 || status === 501;

/**
 * Whether an answer that stands for 404 says nothing of its owner where others have theirs: a page in the place of one owner's list, and a refusal
 * of one owner's days.
 */
export const saysNothing = ({ stream }: Flow, error: Missing): boolean =>
  error instanceof SeemsMissing && (error.status < 400 || stream.days !== undefined);
