/** Totals of months and of the last 7 and 30 days: who was reached in them, which no sum of days tells, and a receipt for the days. */

import type { Json, ReadSide, Request } from '../../../core/stream.ts';
import { at, get, listNamed, textAt } from '../../../reading/requests.ts';
import { accountOf, accounts, ofAccount } from '../ads.ts';
import { isThere } from '../by-id.ts';
import { answers } from '../one-by-one.ts';
import { dayText, type Reports } from './request.ts';

const endpoint = '/ad_accounts/{id}/aggregate_reports/totals';
const rowsOf = listNamed(endpoint, 'rows');
const statsOf = listNamed(endpoint, 'stats');
const keys = ['entity_type', 'entity_id', 'period', 'period_start'] as const;
const members = [...keys, 'period_end'] as const;

type Item = Readonly<Record<string, string>>;

/** Totals are of campaigns, ad sets and ads; an account has its aggregate report (OpenAPI, getAggregatedTotals). */
const isOfAccount = ({ entity_type }: Item): boolean => entity_type === 'AD_ACCOUNT';

const requestOf = (account: string, of: Item): Request => {
  const query = {
    entity_type: of.entity_type ?? '',
    granularity: 'LIFETIME',
    fields: ['IMPRESSIONS', 'CLICKS', 'REACH', 'FREQUENCY'],
    report_start: `${of.period_start}T00:00:00Z`,
    report_end: `${of.period_end}T00:00:00Z`,
    ...(!isOfAccount(of) && { entity_ids: [of.entity_id ?? ''] }),
  };
  return get(ofAccount(account, `/aggregate_reports${isOfAccount(of) ? '' : '/totals'}`), query, endpoint);
};

/**
 * One request for each account or campaign and period (ads.total_periods) that was never asked for, or that differs from the sum of its days,
 * which are restated for 90 days; once a day at most. Reports are allowed five requests a second. The contract has no totals of campaigns:
 * where the server has none, they are read of accounts alone.
 */
export const reportTotals = (reports: Reports): ReadSide => {
  let hasTotals: boolean | undefined;
  return {
    by: 'list',
    name: 'report_totals',
    about:
      'Reach, frequency, impressions and clicks by month, and of the last 7 and 30 days: of accounts, and of campaigns where the server has totals.',
    endpoint: `GET ${endpoint}`,
    optional: true,
    recentOnly: true,
    after: ['ad_accounts', 'report_daily'],
    partitions: accounts(reports),
    async read(slice, context, signal) {
      const account = accountOf(slice);
      const asked_on = dayText(context.clock);
      const due: readonly Item[] = await context.keys({
        table: 'ads.total_periods',
        columns: Object.fromEntries(members.map((name) => [name, name])),
        of: { ad_account_id: account },
        where: `asked_on is null or (not is_sum_of_days and asked_on < least('${asked_on}'::date, period_end + 90))`,
      });
      const campaign = due.find((of) => !isOfAccount(of));
      if (campaign !== undefined)
        hasTotals ??= await isThere(reports, account, requestOf(account, campaign), signal);
      const items = hasTotals === false ? due.filter(isOfAccount) : due;
      const page = async (of: Item, until: AbortSignal) => {
        const { body, ...answer } = await reports.http.send(requestOf(account, of), until);
        const stats = rowsOf(body).slice(0, 1).flatMap(statsOf);
        const numbers = stats.map((stat) => [textAt(stat, 'field_type') ?? '', at(stat, 'field_value')]);
        return { ...answer, records: [{ ...of, asked_on, ...Object.fromEntries(numbers) }] };
      };
      const id = (record: Json): string => keys.map((name) => textAt(record, name) ?? '').join('/');
      return answers(reports, { endpoint, items, nameOf: id, page }, id, signal);
    },
  };
};
