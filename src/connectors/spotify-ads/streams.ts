/** All lists of the ads platform. */

export { adAccounts, businesses } from './streams/accounts.ts';
export { adDrafts, adSetDrafts, campaignDrafts } from './streams/drafts.ts';
export { adSets, ads, campaigns } from './streams/hierarchy.ts';
export { adCategories, assets, audiences, changeHistory } from './streams/material.ts';
