/** Ids as the platform's answers write them. */

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** An id by its one name: UUIDs are read in either case and written in small letters (RFC 9562, section 4); others differ by their case. */
export const canonicalId = (id: string): string => (uuid.test(id) ? id.toLowerCase() : id);
