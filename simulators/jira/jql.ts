/** The part of the query language that the simulator understands, as a tree. */

export interface Operand {
  readonly text: string;
  readonly quoted: boolean;
}

export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<=' | 'in' | 'not in' | 'is' | 'is not';

export type Condition =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | {
      readonly kind: 'clause';
      readonly field: string;
      readonly operator: Operator;
      readonly operands: readonly Operand[];
    };

export interface OrderTerm {
  readonly field: string;
  readonly descending: boolean;
}

export interface Query {
  /** Absent: the query restricts nothing. */
  readonly where: Condition | undefined;
  readonly order: readonly OrderTerm[];
}

/** The query cannot be understood or run; `message` is what the server answers. */
export class JqlError extends Error {
  override readonly name = 'JqlError';
}

interface Token {
  readonly kind: 'word' | 'text' | 'sign';
  readonly value: string;
  readonly at: number;
}

const tokens = (jql: string): readonly Token[] => {
  const found: Token[] = [];
  const pattern = /\s+|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(!=|>=|<=|[=<>(),])|([^\s"'=<>!(),]+)/gy;
  let at = 0;
  while (at < jql.length) {
    pattern.lastIndex = at;
    const match = pattern.exec(jql);
    if (match === null)
      throw new JqlError(`Error in the JQL Query: Unexpected character '${jql[at]}' at position ${at}.`);
    const [whole, double, single, sign, word] = match;
    const text = double ?? single;
    if (text !== undefined) found.push({ kind: 'text', value: text.replaceAll(/\\(.)/g, '$1'), at });
    else if (sign !== undefined) found.push({ kind: 'sign', value: sign, at });
    else if (word !== undefined) found.push({ kind: 'word', value: word, at });
    at += whole.length;
  }
  return found;
};

/** Reads a query. Throws JqlError. An empty text is a query that restricts nothing. */
export const parseJql = (jql: string): Query => {
  const list = tokens(jql);
  let position = 0;
  const peek = (ahead = 0): Token | undefined => list[position + ahead];
  const isWord = (word: string, ahead = 0): boolean => {
    const token = peek(ahead);
    return token?.kind === 'word' && token.value.toLowerCase() === word;
  };
  const isSign = (sign: string, ahead = 0): boolean => {
    const token = peek(ahead);
    return token?.kind === 'sign' && token.value === sign;
  };
  const wrong = (wanted: string): JqlError => {
    const token = peek();
    const got = token === undefined ? 'the query ends' : `got '${token.value}' at position ${token.at}`;
    return new JqlError(`Error in the JQL Query: Expecting ${wanted} but ${got}.`);
  };
  const take = (wanted: string): Token => {
    const token = peek();
    if (token === undefined) throw wrong(wanted);
    position += 1;
    return token;
  };
  const sign = (wanted: string): void => {
    if (!isSign(wanted)) throw wrong(`'${wanted}'`);
    position += 1;
  };

  const operand = (): Operand => {
    const token = peek();
    if (token === undefined || token.kind === 'sign') throw wrong('a value');
    position += 1;
    if (token.kind === 'word' && isSign('(') && isSign(')', 1)) {
      position += 2;
      return { text: `${token.value.toLowerCase()}()`, quoted: false };
    }
    return { text: token.value, quoted: token.kind === 'text' };
  };
  const operands = (): readonly Operand[] => {
    sign('(');
    const values = [operand()];
    while (isSign(',')) {
      position += 1;
      values.push(operand());
    }
    sign(')');
    return values;
  };
  const operator = (): Operator => {
    const token = take('an operator');
    const word = token.value.toLowerCase();
    if (token.kind === 'sign') {
      const known = (['=', '!=', '>', '>=', '<', '<='] as const).find((one) => one === word);
      if (known !== undefined) return known;
    } else if (token.kind === 'word') {
      if (word === 'in') return 'in';
      if (word === 'not' && isWord('in')) {
        position += 1;
        return 'not in';
      }
      if (word === 'is') {
        if (!isWord('not')) return 'is';
        position += 1;
        return 'is not';
      }
    }
    position -= 1;
    throw wrong("an operator ('=', '!=', '<', '>', '<=', '>=', 'IN', 'NOT IN', 'IS', 'IS NOT')");
  };
  const clause = (): Condition => {
    if (isWord('not')) {
      position += 1;
      return { kind: 'not', part: clause() };
    }
    if (isSign('(')) {
      position += 1;
      const inner = either();
      sign(')');
      return inner;
    }
    const field = take('a field name');
    if (field.kind === 'sign') {
      position -= 1;
      throw wrong('a field name');
    }
    const op = operator();
    return {
      kind: 'clause',
      field: field.value.toLowerCase(),
      operator: op,
      operands: op === 'in' || op === 'not in' ? operands() : [operand()],
    };
  };
  const chain = (kind: 'and' | 'or', part: () => Condition): Condition => {
    const first = part();
    const parts = [first];
    while (isWord(kind)) {
      position += 1;
      parts.push(part());
    }
    return parts.length === 1 ? first : { kind, parts };
  };
  const both = (): Condition => chain('and', clause);
  const either = (): Condition => chain('or', both);

  const orders = (): readonly OrderTerm[] => {
    if (!(isWord('order') && isWord('by', 1))) return [];
    position += 2;
    const terms: OrderTerm[] = [];
    do {
      if (terms.length > 0) position += 1;
      const field = take('a field name').value.toLowerCase();
      const descending = isWord('desc');
      if (descending || isWord('asc')) position += 1;
      terms.push({ field, descending });
    } while (isSign(','));
    if (terms.length > 7) throw new JqlError('The maximum number of fields allowed in ORDER BY is 7.');
    return terms;
  };

  const where = list.length === 0 || (isWord('order') && isWord('by', 1)) ? undefined : either();
  const order = orders();
  if (position < list.length) throw wrong("'AND', 'OR', 'ORDER BY' or the end");
  return { where, order };
};
