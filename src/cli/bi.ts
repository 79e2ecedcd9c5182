/** Verbs for what readers of `bi` need: a login, and its views as files. */
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { print } from './output.ts';
import { filled } from './pipelines.ts';

/** Makes a login that reads `bi` and nothing else, or brings one up to date. */
const grantReader: Verb<{ name: string; pii?: boolean; newPassword?: boolean }> = async (
  context,
  options,
) => {
  const { name, ...wanted } = options;
  const warehouse = await filled(context);
  const { grantReader } = await import('../bi/grant-reader.ts');
  const { url, exists, isNew, done, left } = await grantReader(warehouse, name, wanted);
  const hasPassword = new URL(url).password !== '';
  const code = left.length === 0 ? exit.ok : exists ? exit.partly : exit.failed;
  const rest = [
    context.out.paint('yellow', 'This user may not do the rest; let an administrator run:'),
    ...left.map(({ statement, reason }) => `  ${statement};  -- ${reason.replaceAll('\n', ' ')}`),
  ];
  return print(
    context,
    { reader: name, connection: url, hasPassword, isNew, done, left },
    [
      url,
      hasPassword
        ? 'The password is shown this once.'
        : 'The password stays as it was (--new-password makes one).',
      ...done
        .filter((statement) => statement.endsWith(' from public'))
        .map((each) => `For everybody: ${each}`),
      ...(left.length === 0 ? [] : rest),
      'What stays visible: the names and definitions in pg_catalog, and databases that PUBLIC may connect to.',
    ],
    code,
  );
};

export { grantReader as 'grant-reader' };
