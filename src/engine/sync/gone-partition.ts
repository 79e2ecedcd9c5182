/** What it means that a list of an owner is not there, or closed to us: that it is the owner's, that no owner has one, or nothing at all. */

import type { Forbidden, Missing } from '../../core/errors.ts';
import type { Stream } from '../../core/stream.ts';
import type { OpenSlice } from '../state/slice-state.ts';

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
export const isUnavailable = (
  stream: Stream,
  gone: readonly Gone[],
  answered: boolean,
  atEnd: boolean,
): boolean =>
  !answered &&
  (stream.optional !== true
    ? atEnd && (gone.length >= missesUntilUnavailable || gone.every(({ error }) => isOfEndpoint(error)))
    : atEnd || (stream.days === undefined && gone.length >= missesUntilUnavailable));

/**
 * Whether refusals mean that the list itself is closed to us, rather than these owners: the contract promises it, none of several owners shows it,
 * or nobody ever did. Without a word that a permission is lacking, its table would stay empty, or as it was, night after night. Days are told of
 * accounts, which are closed one by one.
 */
export const isClosed = (
  stream: Stream,
  shut: readonly Forbidden[],
  answered: boolean,
  wasRead: boolean,
): boolean =>
  stream.optional !== true &&
  stream.days === undefined &&
  !answered &&
  (shut.length >= missesUntilUnavailable || !wasRead);

const isOfEndpoint = ({ status }: Missing): boolean => status === 405 || status === 501;
