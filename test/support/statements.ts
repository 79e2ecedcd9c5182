/** The statements of `src` that say what their rows are: `` sql<Row>`…` ``, `` query(db)<Row>`…` `` and `client.query<Row>(…)`. */
import path from 'node:path';
import {
  type Expression,
  type Node,
  type SourceFile,
  SyntaxKind,
  type TypeNode,
} from 'typescript/unstable/ast';
import {
  isCallExpression,
  isIdentifier,
  isNoSubstitutionTemplateLiteral,
  isPropertyAccessExpression,
  isStringLiteral,
  isTaggedTemplateExpression,
  isTemplateExpression,
  isTypeParameterDeclaration,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { API, type Checker, type Project, type Type, TypeFlags } from 'typescript/unstable/sync';

const root = path.resolve(import.meta.dirname, '../..');

/** What a value is at run time, as far as Postgres and pg tell values apart. */
export type Kind = 'string' | 'number' | 'boolean' | 'Date' | 'Buffer' | 'array' | 'object' | 'unknown';

export interface Member {
  readonly kinds: readonly Kind[];
  readonly isNullable: boolean;
}

export interface Statement {
  /** File and row type: `src/queries/freshness.ts Row`. */
  readonly name: string;
  /** Its text; between two parts is a value or a part of the statement that is put together when it runs. Undefined: none is written there. */
  readonly parts: readonly string[] | undefined;
  /** Every placeholder is a value. */
  readonly isWhole: boolean;
  /** Columns come as properties in camel case. */
  readonly isCamelCase: boolean;
  /** Members that a row may have beside the named ones: its type has an index. */
  readonly others: Member | undefined;
  /** The type is a parameter of the function around it, whose callers may ask for more. */
  readonly isOpen: boolean;
  /** The members of a row, of a parameter those of its default; undefined where there is none, or the type is a list. */
  readonly row: ReadonlyMap<string, Member> | undefined;
}

/** All of them, in the order of the files. */
export function typedStatements(): readonly Statement[] {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProjects: [path.join(root, 'tsconfig.json')] }).getProjects();
    if (project === undefined) throw new Error('tsconfig.json is no project');
    const inSource = (name: string): boolean => name.startsWith(`${root}/src/`);
    return [...project.program.getSourceFileNames()]
      .filter(inSource)
      .sort()
      .flatMap((name) => statementsOf(project, project.program.getSourceFile(name)));
  } finally {
    api.close();
  }
}

function statementsOf(project: Project, file: SourceFile | undefined): readonly Statement[] {
  if (file === undefined) return [];
  const found: Statement[] = [];
  const visit = (node: Node): void => {
    const typed = typedQuery(node);
    if (typed !== undefined) found.push(statementOf(project, file, typed));
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

interface Typed {
  readonly type: TypeNode;
  readonly text: Expression | undefined;
  readonly isCamelCase: boolean;
}

function typedQuery(node: Node): Typed | undefined {
  if (isTaggedTemplateExpression(node)) {
    const [type] = node.typeArguments ?? [];
    const isCamelCase = isCallExpression(node.tag);
    const of = isCallExpression(node.tag) ? node.tag.expression : node.tag;
    const isQuery = isIdentifier(of) && ['sql', 'query'].includes(of.text);
    return type && isQuery ? { type, text: node.template, isCamelCase } : undefined;
  }
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return undefined;
  const [type] = node.typeArguments ?? [];
  const [text] = node.arguments;
  return type && node.expression.name.text === 'query' ? { type, text, isCamelCase: false } : undefined;
}

function statementOf({ checker }: Project, file: SourceFile, { type, text, isCamelCase }: Typed): Statement {
  const written = text && literalOf(checker, text);
  const spans = written && isTemplateExpression(written) ? [...written.templateSpans] : [];
  const isFragment = ({ expression }: { expression: Expression }): boolean => {
    const of = checker.getTypeAtLocation(expression);
    return of !== undefined && checker.getPropertyOfType(of, 'toOperationNode') !== undefined;
  };
  const head = written && (isTemplateExpression(written) ? written.head.text : textOf(written));
  const isTagged = text !== undefined && text.parent?.kind === SyntaxKind.TaggedTemplateExpression;
  return {
    name: `${path.relative(root, file.fileName)} ${type.getText(file).replaceAll(/\s+/g, ' ')}`,
    parts: head === undefined ? undefined : [head, ...spans.map(({ literal }) => literal.text)],
    isWhole: head !== undefined && (spans.length === 0 || (isTagged && !spans.some(isFragment))),
    isCamelCase,
    ...rowOf(checker, type),
  };
}

const textOf = (node: Expression): string | undefined =>
  isNoSubstitutionTemplateLiteral(node) || isStringLiteral(node) ? node.text : undefined;

/** A text itself, or what the constant of that name holds. */
function literalOf(checker: Checker, node: Expression): Expression | undefined {
  if (!isIdentifier(node)) return node;
  const declared = checker.getSymbolAtLocation(node)?.valueDeclaration?.resolve();
  return declared && isVariableDeclaration(declared) ? declared.initializer : undefined;
}

function rowOf(checker: Checker, node: TypeNode): Pick<Statement, 'row' | 'others' | 'isOpen'> {
  const named = checker.getTypeFromTypeNode(node);
  const isOpen = named !== undefined && (named.flags & TypeFlags.TypeParameter) !== 0;
  const type = isOpen ? defaultOf(checker, named) : named;
  if (type === undefined || checker.isArrayLikeType(type))
    return { row: undefined, others: undefined, isOpen };
  const [index] = checker.getIndexInfosOfType(type);
  const members = checker.getPropertiesOfType(type).map((property) => {
    const of = checker.getTypeOfSymbol(property);
    return [property.name, of ? memberOf(checker, of) : { kinds: [], isNullable: true }] as const;
  });
  return { row: new Map(members), others: index && memberOf(checker, index.valueType), isOpen };
}

function defaultOf(checker: Checker, parameter: Type): Type | undefined {
  const declared = parameter.getSymbol()?.declarations[0]?.resolve();
  const node = declared && isTypeParameterDeclaration(declared) ? declared.defaultType : undefined;
  return node && checker.getTypeFromTypeNode(node);
}

function memberOf(checker: Checker, type: Type): Member {
  const all = membersOf(type);
  const nullable = TypeFlags.Null | TypeFlags.Undefined | TypeFlags.Unknown;
  return {
    kinds: all.flatMap((each) => kindOf(checker, each)),
    isNullable: all.some(({ flags }) => flags & nullable),
  };
}

const membersOf = (type: Type): readonly Type[] =>
  type.isUnionType() ? type.getTypes().flatMap(membersOf) : [type];

function kindOf(checker: Checker, type: Type): readonly Kind[] {
  const is = (flags: number): boolean => (type.flags & flags) !== 0;
  if (is(TypeFlags.Null | TypeFlags.Undefined)) return [];
  if (is(TypeFlags.Unknown)) return ['unknown'];
  if (is(TypeFlags.StringLike)) return ['string'];
  if (is(TypeFlags.NumberLike)) return ['number'];
  if (is(TypeFlags.BooleanLike)) return ['boolean'];
  const name = checker.typeToString(type);
  if (name === 'Date') return ['Date'];
  if (name.startsWith('Buffer')) return ['Buffer'];
  return [checker.isArrayLikeType(type) ? 'array' : 'object'];
}
