-- What a run checks and completes once reports have been loaded. `in_run` null: everything, not only what a run wrote.

-- The price of a thousand impressions is absurd when spend was read in the wrong unit, by a factor of a million. In units,
-- ordinary prices of every currency are within these bounds. The median, because one odd row proves nothing.
create or replace function ads.absurd_prices(of_source smallint, in_run bigint, clock timestamptz)
returns table (warning text) stable language sql as $$
  select format(
    'ads.report_daily: %s (%s): the median price of a thousand impressions of %s rows is %s %s; is spend in another unit?',
    coalesce(ac.name, p.ad_account_id), p.ad_account_id, p.rows, trim_scale(round(p.cpm::numeric, 9)), ac.currency_code
  )
  from (
    select ad_account_id, count(*) as rows, percentile_cont(0.5) within group (order by spend * 1000 / impressions) as cpm
    from ads.report_daily
    where source_id = of_source and _run_id = coalesce(in_run, _run_id)
      and spend > 0 and impressions > 0 and day < clock + interval '2 days'
    group by ad_account_id
  ) p
  left join ads.ad_accounts ac on ac.source_id = of_source and ac.id = p.ad_account_id
  where p.rows >= 20 and (p.cpm < 0.001 or p.cpm > 1000000)
  order by 1
$$;

-- A row for each entity that the reports of a run name and no list has shown, with what they say of it.
create or replace function ads.add_unlisted(of_source smallint, in_run bigint, clock timestamptz)
returns table (inserted bigint, updated bigint) language plpgsql as $$
declare
  target record;
  added bigint;
  changed bigint;
begin
  inserted := 0;
  updated := 0;
  for target in
    select * from (
      values ('CAMPAIGN', 'campaigns', null), ('AD_SET', 'ad_sets', 'campaign_id'), ('AD', 'ads', 'ad_set_id')
    ) t (level, name, parent)
  loop
    execute format(
      'with written as (
        insert into ads.%1$I as t (source_id, id, ad_account_id, name, status, is_listed, _run_id %2$s)
        select distinct on (entity_id)
          source_id, entity_id, ad_account_id, entity_name, entity_status, false, _run_id %3$s
        from ads.report_daily r
        where source_id = $1 and _run_id = $2 and day < $3 and entity_type = %4$L
          and not exists (
            select from ads.%1$I e where e.source_id = r.source_id and e.id = r.entity_id and e.is_listed
          )
        order by entity_id, day desc
        on conflict (source_id, id) do update set
          name = excluded.name, status = excluded.status, _run_id = excluded._run_id, _synced_at = now()
        where (t.name, t.status) is distinct from (excluded.name, excluded.status)
        returning xmax = 0 as is_new
      )
      select count(*) filter (where is_new), count(*) filter (where not is_new) from written',
      target.name,
      ', ' || quote_ident(target.parent),
      case when target.parent is not null then ', parent_entity_id' end,
      target.level
    ) into added, changed using of_source, in_run, clock;
    inserted := inserted + added;
    updated := updated + changed;
  end loop;
  return next;
end
$$;

-- Where a level of an account has less than another one, on days for which the run wrote or deleted rows: a list or a
-- report left something out. Numbers of the last days may differ by a hundredth, because the levels are read one after
-- the other; amounts are rounded to a millionth in each row.
create or replace function ads.level_gaps(of_source smallint, in_run bigint, clock timestamptz)
returns table (warning text) stable language sql as $$
  with touched as (
    select distinct ad_account_id, day
    from ads.report_daily
    where source_id = of_source and day < clock and (
      _run_id = coalesce(in_run, _run_id)
      or day in (
        select day from ads.report_revisions v
        where v.source_id = of_source and v._run_id = in_run
          and v.seen_at > now() - interval '2 days' and v.new_value is null
      )
    )
  ),
  sums as (
    select ad_account_id, day, entity_type,
      sum(spend) as spend, sum(impressions) as impressions, sum(clicks) as clicks, count(*) as rows
    from ads.report_daily join touched using (ad_account_id, day)
    where source_id = of_source
    group by ad_account_id, day, entity_type
  ),
  levels as (
    select t.ad_account_id, t.day, l.entity_type, v.measure, v.sum,
      max(v.sum) over of_day as most, max(coalesce(s.rows, 0)) over of_day as rows
    from touched t
    cross join (values ('AD_ACCOUNT'), ('CAMPAIGN'), ('AD_SET'), ('AD')) l (entity_type)
    left join sums s
      on s.ad_account_id = t.ad_account_id and s.day = t.day and s.entity_type = l.entity_type
    cross join lateral (
      values (1, coalesce(s.spend, 0)), (2, coalesce(s.impressions, 0)), (3, coalesce(s.clicks, 0))
    ) v (measure, sum)
    window of_day as (partition by t.ad_account_id, t.day, v.measure)
  ),
  gaps as (
    select ad_account_id, entity_type, measure,
      sum(most - sum) as gap, count(*) as days, min(day) as first, max(day) as last
    from levels
    where most - sum > greatest(rows * 0.000001, case when day >= clock::date - 3 then most / 100 end)
    group by ad_account_id, entity_type, measure
  )
  select format(
    '%s (%s): %s lacks %s that another level has, on %s from %s to %s; see bi.ad_level_checks',
    coalesce(min(ac.name), g.ad_account_id), g.ad_account_id, g.entity_type,
    string_agg(
      concat_ws(
        ' ', trim_scale(g.gap),
        (array[coalesce(ac.currency_code, 'units') || ' of spend', 'impressions', 'clicks'])[g.measure]
      ),
      ', ' order by g.measure
    ),
    max(g.days) || case when max(g.days) = 1 then ' day' else ' days' end, min(g.first), max(g.last)
  )
  from gaps g
  left join ads.ad_accounts ac on ac.source_id = of_source and ac.id = g.ad_account_id
  group by g.ad_account_id, g.entity_type
  order by 1
$$;

-- Totals that differ from the sum of the stored days; those of the last days may by a hundredth.
create or replace function ads.total_gaps(of_source smallint, in_run bigint, clock timestamptz)
returns table (warning text) stable language plpgsql as $$
begin
  return query
  with gaps as (
    select t.*, p.impressions as day_impressions, p.clicks as day_clicks,
      row_number() over (partition by t.ad_account_id order by t.period_start desc, t.entity_id collate "C") as place,
      count(*) over (partition by t.ad_account_id) as periods
    from ads.report_totals t
    join ads.total_periods p using (source_id, entity_type, entity_id, period, period_start, period_end)
    cross join lateral (select case when t.period_end >= clock::date - 3 then 0.01 else 0 end as share) tolerated
    where t.source_id = of_source and t._run_id = coalesce(in_run, t._run_id) and (
      abs(t.impressions - p.impressions) > p.impressions * share or abs(t.clicks - p.clicks) > p.clicks * share
    )
  )
  select format(
    '%s (%s): %s totals are not the sum of their days; %s %s, %s from %s to %s: %s impressions and %s clicks, by day %s and %s',
    coalesce(ac.name, g.ad_account_id), g.ad_account_id, g.periods, g.entity_type, g.entity_id, g.period,
    g.period_start, g.period_end, g.impressions, g.clicks, g.day_impressions, g.day_clicks
  )
  from gaps g
  left join ads.ad_accounts ac on ac.source_id = of_source and ac.id = g.ad_account_id
  where g.place = 1
  order by 1;
end
$$;

-- Accounts × levels with entities that became known after `known_after`: their list failed or was closed to us when their
-- days were read. One that only a report names was found when its days were read. What an account spent by its oldest
-- campaign belongs to its own level, too. `since`: the first day that may have numbers; null: all of history.
create or replace function ads.late_levels(of_source smallint, known_after timestamptz, created_before timestamptz)
returns table (ad_account_id text, entity_type text, since timestamptz) stable language sql as $$
  select e.ad_account_id, e.entity_type, case when bool_and(e.created_at is not null) then min(e.created_at) end
  from (
    select c.source_id, c.ad_account_id, l.entity_type, c.created_at, c._first_synced_at, c.is_listed
    from ads.campaigns c
    cross join (values ('AD_ACCOUNT'), ('CAMPAIGN')) l (entity_type)
    union all
    select source_id, ad_account_id, 'AD_SET', created_at, _first_synced_at, is_listed from ads.ad_sets
    union all
    select source_id, ad_account_id, 'AD', created_at, _first_synced_at, is_listed from ads.ads
  ) e
  where e.source_id = of_source and e.is_listed and e._first_synced_at > known_after
    and (e.created_at is null or e.created_at < created_before)
  group by e.ad_account_id, e.entity_type
$$;
