/** The changelog, comments and worklogs of one issue: rows of the lists that came complete, tails that fetch the others. */

import type { PageWalk } from '../../../core/paging.ts';
import type { JsonObject } from '../../../core/record-object.ts';
import { Reading } from '../../../core/record-reader.ts';
import type { Json } from '../../../core/request.ts';
import type { Tail } from '../../../core/stream.ts';
import type { Integer, Row } from '../../../core/table.ts';
import type { IssueChangeRow } from '../tables.ts';
import type { Catalogue } from './field-catalogue.ts';
import {
  changeRows,
  commentRow,
  delivered,
  eachOnce,
  idsOf,
  isOfIssue,
  keyRows,
  worklogRow,
} from './issue-details.ts';

/** The walks over the complete lists of one issue. */
export interface DetailWalks {
  readonly changelog: PageWalk;
  readonly comments: PageWalk;
  readonly worklogs: PageWalk;
}

/** An issue whose lists are read. */
interface Owner {
  readonly r: Reading;
  readonly id: Integer;
  readonly key: string;
  readonly walks: () => DetailWalks;
}

interface Details {
  readonly children: Readonly<Record<string, readonly Row[]>>;
  readonly tails: readonly Tail[];
}

/** All lists, and the keys that the changelog names. */
export const detailsOf = (
  owner: Owner,
  issue: JsonObject,
  fields: JsonObject,
  catalogue: Catalogue,
): Details => {
  const parts = [
    changelogOf(owner, issue, catalogue),
    ownList(owner, fields, 'comment', 'comments', commentRow),
    ownList(owner, fields, 'worklog', 'worklogs', worklogRow),
  ];
  return {
    children: Object.assign({}, ...parts.map(({ children }) => children)),
    tails: parts.flatMap(({ tails }) => tails),
  };
};

const changelogOf = ({ r, id, key, walks }: Owner, issue: JsonObject, catalogue: Catalogue): Details => {
  const found = delivered(r, issue, 'changelog', 'histories', 'changelog');
  // A truncated list is read, too: its keys are true, and its faults are faults.
  const changes = (found?.records ?? []).flatMap((history, at) =>
    changeRows(r.element('changelog.histories', at), id, history, catalogue),
  );
  const keys = keyRows(r, id, key, changes);
  if (found?.complete) return { children: { keys, changelog: changes }, tails: [] };
  // One walk for both tails: it is then walked once.
  const walk = walks().changelog;
  const rows = (records: readonly Json[]): readonly IssueChangeRow[] =>
    eachOnce(records).flatMap((record) => {
      const reading = new Reading('tracker.issue_changelog', `issue ${id}: change`, record);
      return changeRows(reading, id, record, catalogue);
    });
  const seen = new Set(keys.map((row) => row.key));
  const newKeys = (records: readonly Json[]): readonly Row[] =>
    keyRows(r, id, key, rows(records)).filter((row) => !seen.has(row.key));
  const tails = [
    { child: 'changelog', walk, shown: idsOf(found?.records ?? []), rows },
    { child: 'keys', walk, rows: newKeys },
  ];
  return { children: { keys }, tails };
};

/** Comments or worklogs. Records of another issue say nothing of this issue's list, which is then fetched. */
const ownList = (
  { r, id, walks }: Owner,
  fields: JsonObject,
  noun: 'comment' | 'worklog',
  child: 'comments' | 'worklogs',
  row: (r: Reading, issueId: Integer, record: Json) => Row,
): Details => {
  const belongs = isOfIssue(id);
  const path = `fields.${noun}`;
  const found = delivered(r, fields, noun, child, path);
  if (found?.complete && found.records.every(belongs)) {
    const rows = found.records.map((record, at) => row(r.row(`${path}.${child}`, at), id, record));
    return { children: { [child]: rows }, tails: [] };
  }
  const tail: Tail = {
    child,
    walk: walks()[child],
    belongs,
    shown: idsOf(found?.records.filter(belongs) ?? []),
    rows: (records) =>
      eachOnce(records).map((record) =>
        row(new Reading(`tracker.${child}`, `issue ${id}: ${noun}`, record), id, record),
      ),
  };
  return { children: {}, tails: [tail] };
};
