/** What to do about sentences of the tracker's errors. Where a report is named, the sentence is from there. */

import type { Advice } from '../../http/advice.ts';

const renew = 'wrong e-mail or token, or it has expired (at Atlassian after a year)';

export const advice: readonly Advice[] = [
  // developer.atlassian.com, "Basic auth for REST APIs", CAPTCHA; gioboa/jira-plugin#26.
  [/^x-\S+: *(CAPTCHA|.*AUTHENTICATION_DENIED)/im, 'it wants a captcha: log in once in a browser', 'login'],
  // MrRefactoring/jira.js#418.
  [/^x-seraph-loginreason:.*AUTHENTICATED_FAILED/im, renew, 'login'],
  // lesstif/php-jira-rest-client#528, rhevm-qe-automation/pytest_jira#136.
  [/parse Connect Session Auth/i, 'a Cloud site takes no Bearer token: set TRACKER_AUTH=basic', 'login'],
  // raycast/extensions#11212, PipedreamHQ/pipedream#20210.
  [/scope does not match/i, 'the token lacks a scope; docs/guides/jira-cloud.md says which scopes it needs'],
  // support.atlassian.com, "Scope of IP allowlists in Atlassian Cloud"; it comes as 403 and as 400.
  [/IP address has been rejected|IP allow ?list/i, 'ask an admin to add this IP to the allowlist', 'login'],
  // ParabolInc/parabol#7430.
  [/Tenant is restricted|suspended-\w+/i, 'the site is suspended: its admin sees why', 'login'],
  // docs.eidos-global.com, runbook RB-006: the page of a site whose subscription ended.
  [/\b(suspended|deactivated)\b/i, 'the site is suspended or deactivated: ask its admin'],
  // The words are the vendor's for a site that is being moved; its sentence is in no public report.
  [/\bread[- ]only\b/i, 'the site is read-only, e.g. while it is moved: run again later'],
  // The vendor's OpenAPI of Jira Software, 403 of every endpoint.
  [/\blicen[cs]ed?\b/i, 'Jira Software is not licensed, or not for this account: ask an admin'],
  // The site itself, and the gateway of scoped tokens: atlassian/gajira-login#59, stablyai/orca#20092.
  [/Client must be authenticated|"Unauthorized"/i, `${renew}, or a token with scopes and another base URL`],
];
