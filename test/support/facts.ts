type Rows = (query: string) => Promise<readonly object[]>;

/** Tables of schema tracker that hold stored facts, or help to keep them. */
export const factTables = [
  'issue_status_intervals',
  'issue_facts',
  'flow_daily',
  'sprint_issue_facts',
  'sprint_burndown_changes',
  'issue_value_intervals',
  'fact_fields',
  'touched',
  'value_names',
  'history_names',
];

/** All stored facts of the tracker, each as a line of its table. */
async function factsIn(rowsOf: Rows): Promise<readonly string[]> {
  const all = factTables
    .filter((name) => name !== 'fact_fields')
    .map((name) => `select '${name} ' || t::text as line from tracker.${name} t`);
  const rows = await rowsOf(`select line from (${all.join(' union all ')}) lines order by line`);
  return rows.map((row) => String(Reflect.get(row, 'line')));
}

/** Makes all facts anew. Gives the lines before and after that differ: none, if every write has kept them. */
export async function staleFacts(rowsOf: Rows): Promise<readonly string[]> {
  const kept = await factsIn(rowsOf);
  await rowsOf('select tracker.derive_all()');
  const made = await factsIn(rowsOf);
  const before = new Set(kept);
  const after = new Set(made);
  return [
    ...kept.filter((line) => !after.has(line)).map((line) => `kept ${line}`),
    ...made.filter((line) => !before.has(line)).map((line) => `made ${line}`),
  ];
}
