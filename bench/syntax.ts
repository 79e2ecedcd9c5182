/** The syntax tree of a file, by the parser of vitest's bundler: that of TypeScript 7 has no stable interface yet. */
import { type ESTree, parseSync } from 'rolldown/utils';

export type SyntaxNode = ESTree.Node;

/** A file's tree. Throws where the text is no TypeScript (or, by its name, JavaScript). */
export function syntaxOf(name: string, text: string): SyntaxNode {
  const { program, errors } = parseSync(name, text);
  if (errors[0] !== undefined) throw new Error(`${name}: ${errors[0].message}`);
  return program;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** Every node of a tree with the one it lies in, in the order of the text. */
export function* nodesOf(
  node: SyntaxNode,
  parent?: SyntaxNode,
): Generator<{ readonly node: SyntaxNode; readonly parent: SyntaxNode | undefined }> {
  yield { node, parent };
  for (const value of Object.values(node).flat()) if (isNode(value)) yield* nodesOf(value, node);
}
