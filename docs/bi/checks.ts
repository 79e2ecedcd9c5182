/** What must hold of the contract: against its last version, and in a warehouse with rows. */
import { type Contract, qualified, type Relation, type View } from './contract.ts';

/** What a new contract breaks of an old one: columns that are gone, moved or of another type. */
export function broken(before: Contract, after: Contract): readonly string[] {
  return before.views.flatMap((old) => {
    const view = after.views.find(({ name }) => name === old.name);
    if (view === undefined) return [`${qualified(old.name)} is gone`];
    return old.columns.flatMap(({ name, type }, index) => {
      const is = view.columns[index];
      if (is?.name !== name)
        return [`${qualified(old.name)}: column ${index + 1} was ${name} and is ${is?.name ?? 'gone'}`];
      return is.type === type ? [] : [`${qualified(old.name)}.${name} was ${type} and is ${is.type}`];
    });
  });
}

/** Queries whose rows are faults: what the contract says of keys and relations does not hold. */
export function checks({
  views: all,
}: Contract): readonly { readonly says: string; readonly query: string }[] {
  return all.flatMap((view) => [
    keyCheck(view),
    ...view.relations.filter((is) => is.complete).map((is) => relationCheck(view, is)),
  ]);
}

const keyCheck = ({ name, key, nullable }: View) => {
  const nulls = key.filter((column) => !nullable.includes(column)).map((column) => `${column} is null`);
  return {
    says: `${qualified(name)} has one row per ${key.join(', ')}`,
    query: `select ${key.join(', ')}, count(*) from ${qualified(name)} group by ${key.join(', ')}
      having count(*) > 1 or ${nulls.join(' or ')} limit 3`,
  };
};

/** The set operation reads each side once; `not exists` would look up every row on its own. */
const relationCheck = ({ name }: View, { columns, to, key }: Relation) => ({
  says: `every ${columns.join(', ')} of ${qualified(name)} is in ${qualified(to)}`,
  query: `select ${columns.join(', ')} from ${qualified(name)} where ${columns.map((column) => `${column} is not null`).join(' and ')}
    except select ${key.join(', ')} from ${qualified(to)} limit 3`,
});
