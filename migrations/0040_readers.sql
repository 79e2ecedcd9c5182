-- What readers of bi may see of people: e-mails and free text behind a grant of their own, names as the configuration says.

create schema bi_pii;
comment on schema bi_pii is 'What is personal: e-mails and the free text of comments and worklogs. Beside bi, with a grant of its own.';

create function ops.shows_names() returns boolean immutable parallel safe return true;
comment on function ops.shows_names() is 'False where bi shows pseudonyms in place of people''s names (TIDEMARK_BI_NAMES=pseudonyms).';

-- Stable, not immutable: convert_to is. A planner that inlines it sees the plain name where names are shown.
create function ops.shown_name(name text, user_id text) returns text stable parallel safe
  return case
    when ops.shows_names() or name is null then name
    else 'Person ' || left(encode(sha256(convert_to(coalesce(user_id, name), 'UTF8')), 'hex'), 12)
  end;
comment on function ops.shown_name(text, text) is 'How bi shows a person: by name, or by a pseudonym that is the same in every view and after every sync.';
