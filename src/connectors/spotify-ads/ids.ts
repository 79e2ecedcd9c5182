/** Moved to ads.ts. */
export { canonicalId } from './ads.ts';
