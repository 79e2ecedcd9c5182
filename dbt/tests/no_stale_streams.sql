-- A report on streams that are older than promised is not of today.
{{ config(severity='warn') }}
select source, stream, freshness, fresh_at
from {{ source('tidemark', 'data_freshness') }}
where is_stale
