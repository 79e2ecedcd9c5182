/**
 * `node test/support/jira-endpoints.ts FOLDER`: writes `jira-endpoints.json`, what the vendor's OpenAPI documents in FOLDER
 * (`jira-platform-*.json`, `jira-software-*.json`) say of the endpoints that the connector's source and the documents name.
 */
import fs from 'node:fs';
import path from 'node:path';

/** What the vendor says of an endpoint. */
export interface Described {
  readonly method: 'GET' | 'POST';
  /** With `{}` in the place of an id. */
  readonly path: string;
  readonly deprecated: boolean;
  /** Scopes of an OAuth app or a scoped token: the classic ones, then the granular ones. */
  readonly scopes: readonly (readonly string[])[];
}

const root = path.resolve(import.meta.dirname, '../..');
export const describedFile = path.join(import.meta.dirname, 'jira-endpoints.json');

/** A path with `{}` for whatever stands for an id in it. */
export const templateOf = (text: string): string => text.replace(/\{\w*\}/g, '{}');

/** Names of endpoints of the cloud; version 2 is Data Center's, which has a document of its own. */
const endpoint = /\/rest\/(?:api\/3|agile\/1\.0)\/[\w{}./-]*[\w}]/g;

/** The endpoints that the files below a folder name, by file. */
export const namedIn = (folder: string, kind: RegExp): ReadonlyMap<string, readonly string[]> => {
  const files = fs.readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' });
  const wanted = files.filter((file) => kind.test(file)).map((file) => path.join(folder, file));
  return new Map(
    wanted.map((file) => [
      file,
      (fs.readFileSync(path.join(root, file), 'utf8').match(endpoint) ?? []).map(templateOf),
    ]),
  );
};

export const allNamed = (): ReadonlyMap<string, readonly string[]> =>
  new Map([...namedIn('src/connectors/jira', /\.ts$/), ...namedIn('docs', /\.md$/)]);

interface Operation {
  readonly deprecated?: boolean;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly 'x-atlassian-oauth2-scopes'?: readonly { readonly scopes: readonly string[] }[];
}

type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

const describe = (method: Described['method'], where: string, operation: Operation): Described => ({
  method,
  path: templateOf(where),
  deprecated: operation.deprecated === true,
  scopes:
    operation['x-atlassian-oauth2-scopes']?.map(({ scopes }) => scopes) ??
    operation.security?.flatMap(({ OAuth2 }) => (OAuth2 === undefined ? [] : [OAuth2])) ??
    [],
});

/** Whether an operation reads: searches are POST, too. */
const reads = ({ method, scopes }: Described): boolean =>
  method === 'GET' || (scopes[0]?.every((scope) => scope.startsWith('read:')) ?? false);

/** What the documents in a folder say of the endpoints that are named, as the text of the file. */
export const describedIn = (folder: string): string => {
  const named = new Set([...allNamed().values()].flat());
  const documents = fs.readdirSync(folder).filter((file) => /^jira-(platform|software)-.*\.json$/.test(file));
  const operations = documents.flatMap((file) => {
    const { paths }: Document = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
    return Object.entries(paths).flatMap(([where, { get, post }]) => [
      ...(get ? [describe('GET', where, get)] : []),
      ...(post ? [describe('POST', where, post)] : []),
    ]);
  });
  const rows = operations
    .filter((one) => named.has(one.path) && reads(one))
    .toSorted((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1));
  return `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`;
};

const [, program, folder] = process.argv;
if (program === import.meta.filename && folder !== undefined)
  fs.writeFileSync(describedFile, describedIn(folder));
