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

/** No part of it can match the same characters in two ways, which would make the time more than linear. */
const token =
  /("(?:\\.|[^"\\\n])*"?)|(\[(?:\\.|[^\]\\\n])*\]?)|([\w.-]+)|(::=)|([*+?]|\{[^{}\n]*\}?)|(\(=|[()|])|(#[^\n]*)/suy;
const count = /^\{\s*(\d+)\s*(?:(,)\s*(?:(\d+)\s*)?)?\}$/;
const empty: Expression = { kind: "sequence", parts: [] };

interface Token {
  type: "text" | "class" | "name" | "defines" | "quantifier" | "sign";
  text: string;
}

/** Returns the tokens of a grammar. White space, comments and characters that begin no token are skipped. */
function tokenize(grammar: string): Token[] {
  const types = ["text", "class", "name", "defines", "quantifier", "sign"] as const;
  const tokens: Token[] = [];
  for (let at = 0; at < grammar.length;) {
    token.lastIndex = at;
    const found = token.exec(grammar);
    at = found ? token.lastIndex : at + 1;
    const index = types.findIndex((_, type) => found?.[type + 1] !== undefined);
    const type = types[index];
    if (found && type) tokens.push({ type, text: found[0] });
  }
  return tokens;
}

/** Reads the rules of a grammar in EBNF, also of one with mistakes, which the grammar library reports. */
export function parseGrammar(grammar: string): Rule[] {
  const tokens = tokenize(grammar);
  const rules: Rule[] = [];
  let at = 0;
  while (at < tokens.length) {
    if (!beginsRule()) {
      at++;
      continue;
    }
    const name = tokens[at]?.text ?? "";
    at += 2;
    const options = [choice()];
    // After a parenthesis without an opening one.
    while (at < tokens.length && !beginsRule()) {
      at++;
      options.push(choice());
    }
    rules.push({ name, body: options.length === 1 ? (options[0] ?? empty) : { kind: "choice", options } });
  }
  return rules;

  function beginsRule(): boolean {
    return tokens[at]?.type === "name" && tokens[at + 1]?.type === "defines";
  }

  function takeSign(...signs: string[]): boolean {
    const current = tokens[at];
    const found = current?.type === "sign" && signs.includes(current.text);
    if (found) at++;
    return found;
  }

  function choice(): Expression {
    const options = [sequence()];
    while (takeSign("|")) options.push(sequence());
    return options.length === 1 ? (options[0] ?? empty) : { kind: "choice", options };
  }

  function sequence(): Expression {
    const parts: Expression[] = [];
    for (let atom = readAtom(); atom !== undefined; atom = readAtom()) parts.push(repeated(atom));
    return parts.length === 1 ? (parts[0] ?? empty) : { kind: "sequence", parts };
  }

  function readAtom(): Expression | undefined {
    const current = tokens[at];
    if (current === undefined || beginsRule()) return undefined;
    if (takeSign("(", "(=")) {
      const inner = choice();
      takeSign(")");
      return inner;
    }
    if (current.type === "sign") return undefined;
    at++;
    if (current.type === "text") return { kind: "text", source: current.text.slice(1, -1) };
    if (current.type === "class") return { kind: "class", source: current.text };
    return current.type === "name" ? { kind: "rule", name: current.text } : empty;
  }

  function repeated(part: Expression): Expression {
    let result = part;
    for (; tokens[at]?.type === "quantifier"; at++) {
      const quantifier = tokens[at]?.text ?? "";
      const [, least, comma, most] = count.exec(quantifier) ?? [];
      const min = least === undefined ? (quantifier === "+" ? 1 : 0) : Number(least);
      const open = quantifier === "*" || quantifier === "+" || (comma !== undefined && most === undefined);
      const max = open ? Number.POSITIVE_INFINITY : quantifier === "?" ? 1 : comma === undefined ? min : Number(most);
      result = { kind: "repeat", part: result, min, max };
    }
    return result;
  }
}
