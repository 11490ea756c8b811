/** The structure of an expression of a grammar, as far as it decides how large its automaton is. */
export type Expression =
  | { kind: "text"; source: string }
  /** One character of a class, by its text. */
  | { kind: "class"; source: string }
  | { kind: "rule"; name: string }
  | { kind: "sequence"; parts: Expression[] }
  | { kind: "choice"; options: Expression[] }
  | { kind: "repeat"; part: Expression; min: number; max: number };

export interface Rule {
  name: string;
  body: Expression;
}

/** The parts of an expression. */
export function children(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "sequence":
      return expression.parts;
    case "choice":
      return expression.options;
    case "repeat":
      return [expression.part];
    default:
      return [];
  }
}

const token =
  /(?:\s|#[^\n]*(?:\n|$))*(?:("(?:\\.|[^"\\\n])*")|(\[(?:\\.|[^\]\\\n])*\])|([A-Za-z_][\w.-]*)(\s*::=)?|(\{\s*(\d+)\s*(?:(,)\s*(?:(\d+)\s*)?)?\}|[*+?])|(\(=|[()|]))/suy;
const empty: Expression = { kind: "sequence", parts: [] };

/**
 * Reads the rules of a grammar in EBNF. What cannot be read ends the reading: the grammar library reports mistakes.
 */
export function parseGrammar(grammar: string): Rule[] {
  const rules: Rule[] = [];
  let at = 0;
  let current = next();
  while (current?.[3] !== undefined && current[4] !== undefined) {
    const name = current[3];
    advance();
    rules.push({ name, body: choice() });
  }
  return rules;

  function next(): RegExpExecArray | undefined {
    token.lastIndex = at;
    const found = token.exec(grammar) ?? undefined;
    if (found) at = token.lastIndex;
    return found;
  }

  function advance(): void {
    current = next();
  }

  function choice(): Expression {
    const options = [sequence()];
    while (current?.[9] === "|") {
      advance();
      options.push(sequence());
    }
    return options.length === 1 ? (options[0] ?? empty) : { kind: "choice", options };
  }

  function sequence(): Expression {
    const parts: Expression[] = [];
    for (let atom = readAtom(); atom !== undefined; atom = readAtom()) parts.push(repeated(atom));
    return parts.length === 1 ? (parts[0] ?? empty) : { kind: "sequence", parts };
  }

  function readAtom(): Expression | undefined {
    if (current === undefined || current[4] !== undefined) return undefined;
    const [, text, characters, name, , , , , , sign] = current;
    if (text !== undefined) {
      advance();
      return { kind: "text", source: text.slice(1, -1) };
    }
    if (characters !== undefined) {
      advance();
      return { kind: "class", source: characters };
    }
    if (name !== undefined) {
      advance();
      return { kind: "rule", name };
    }
    if (sign !== "(" && sign !== "(=") return undefined;
    advance();
    const inner = choice();
    if (current?.[9] === ")") advance();
    return inner;
  }

  function repeated(part: Expression): Expression {
    let result = part;
    for (; current?.[5] !== undefined; advance()) {
      const [, , , , , quantifier, least, comma, most] = current;
      const min = least === undefined ? (quantifier === "+" ? 1 : 0) : Number(least);
      const open = quantifier === "*" || quantifier === "+" || (comma === "," && most === undefined);
      const max = open ? Number.POSITIVE_INFINITY : quantifier === "?" ? 1 : comma === "," ? Number(most) : min;
      result = { kind: "repeat", part: result, min, max };
    }
    return result;
  }
}
