/** What YAML is written from. */
export type Value =
  | string
  | number
  | boolean
  | readonly Value[]
  | { readonly [name: string]: Value | undefined };

/** Data as YAML: lists of plain values on one line, everything else a line each. Members that are undefined are left out. */
export function yaml(value: Value, indent = ''): string {
  if (typeof value !== 'object') return scalar(value);
  if (isList(value)) {
    if (value.every((item) => typeof item !== 'object'))
      return `[${value.map((item) => yaml(item)).join(', ')}]`;
    return value.map((item) => `\n${indent}- ${yaml(item, `${indent}  `).trimStart()}`).join('');
  }
  return Object.entries(value)
    .flatMap(([name, member]) => {
      if (member === undefined) return [];
      const text = yaml(member, isList(member) ? indent : `${indent}  `);
      return [`\n${indent}${name}:${text.startsWith('\n') ? text : ` ${text}`}`];
    })
    .join('');
}

/** A file of YAML with a comment on top. */
export const yamlFile = (comment: string, value: Value): string =>
  `# ${comment}\n${yaml(value).trimStart()}\n`;

const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

/** Every text of JSON is one of YAML; words that can be read as nothing else stay as they are. */
const scalar = (value: string | number | boolean): string =>
  typeof value === 'string' &&
  /^[a-z]\w*$/i.test(value) &&
  !/^(yes|no|on|off|true|false|null|y|n)$/i.test(value)
    ? value
    : JSON.stringify(value);
