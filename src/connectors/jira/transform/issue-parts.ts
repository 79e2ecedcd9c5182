/** Parts of issues that were rejected by themselves, tried again. */

import { BadData } from '../../../core/errors.ts';
import { isObject } from '../../../core/record.ts';
import type { LoadSide, Transform } from '../../../core/stream.ts';

/** What an issue must have to be mapped; nothing of it reaches a row of a part. */
const plain = { project: { id: '0' }, status: { id: '0' }, created: 0, updated: 0 };

/** The rows of a part as an issue gives them that has this part alone. */
export const partRowsBy =
  (mapIssue: Transform): NonNullable<LoadSide['partRows']> =>
  (child, part, given) => {
    const { issue_id, field = 'labels', change, item } = isObject(given) ? given : {};
    if (child === 'keys') throw new BadData('bad_key', `issue ${issue_id}: a former key that no index takes`);
    const list = { [child]: [part], total: 1 };
    const named = { comments: { comment: list }, worklogs: { worklog: list }, changelog: {} };
    const fields = named[child as keyof typeof named] ?? { [String(field)]: [part] };
    const histories = child !== 'changelog' ? [] : [isObject(change) ? { ...change, items: [part] } : part];
    const issue = { id: issue_id, key: 'KEY', fields: { ...plain, ...fields } };
    const mapped = mapIssue({ ...issue, changelog: { histories, total: histories.length } }, {});
    const [bad] = mapped.badParts ?? [];
    if (bad !== undefined) throw bad.error;
    const rows = mapped.children[child] ?? [];
    return item === undefined ? rows : rows.map((row) => ({ ...row, item: Number(item) }));
  };
