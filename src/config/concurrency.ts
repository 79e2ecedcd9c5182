/**
 * Requests at once: enough that a source which answers within 50 ms is read as fast as it can be loaded, few enough that none of the
 * vendors' published limits (100 requests a second for an account of the tracker) is reached by a site that answers as sites do.
 */
export const defaultConcurrency = 8;
