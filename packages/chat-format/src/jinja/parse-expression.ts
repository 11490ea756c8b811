import type { Argument, BinaryOperator, Comparison, Expression } from "./syntax.js";
import type { TokenStream } from "./token-stream.js";

/** Parses an expression, with the precedence of Jinja's operators. */
export function parseExpression(stream: TokenStream, { inlineIf = true } = {}): Expression {
  return inlineIf ? parseInlineIf(stream) : parseOr(stream);
}

function parseInlineIf(stream: TokenStream): Expression {
  let value = parseOr(stream);
  while (stream.skip("name", "if")) {
    const condition = parseOr(stream);
    const otherwise = stream.skip("name", "else") ? parseInlineIf(stream) : undefined;
    value = { type: "if", condition, whenTrue: value, otherwise };
  }
  return value;
}

function parseOr(stream: TokenStream): Expression {
  let left = parseAnd(stream);
  while (stream.skip("name", "or")) left = { type: "or", left, right: parseAnd(stream) };
  return left;
}

function parseAnd(stream: TokenStream): Expression {
  let left = parseNot(stream);
  while (stream.skip("name", "and")) left = { type: "and", left, right: parseNot(stream) };
  return left;
}

function parseNot(stream: TokenStream): Expression {
  return stream.skip("name", "not") ? { type: "not", value: parseNot(stream) } : parseCompare(stream);
}

function parseCompare(stream: TokenStream): Expression {
  const first = parseSum(stream);
  const rest: [Comparison, Expression][] = [];
  for (;;) {
    const operator = comparison(stream);
    if (operator === undefined) break;
    rest.push([operator, parseSum(stream)]);
  }
  return rest.length === 0 ? first : { type: "compare", first, rest };
}

function comparison(stream: TokenStream): Comparison | undefined {
  if (stream.isOperator("==", "!=", "<", "<=", ">", ">=")) return stream.next().value as Comparison;
  if (stream.skip("name", "in")) return "in";
  if (!stream.isName("not") || !stream.is("name", "in", 1)) return undefined;
  stream.next();
  stream.next();
  return "not in";
}

function parseSum(stream: TokenStream): Expression {
  return parseBinary(stream, ["+", "-"], parseConcat);
}

function parseConcat(stream: TokenStream): Expression {
  const first = parseProduct(stream);
  if (!stream.isOperator("~")) return first;
  const items = [first];
  while (stream.skip("operator", "~")) items.push(parseProduct(stream));
  return { type: "concat", items };
}

function parseProduct(stream: TokenStream): Expression {
  return parseBinary(stream, ["*", "/", "//", "%"], (inner) => parseBinary(inner, ["**"], parseUnary));
}

function parseBinary(
  stream: TokenStream,
  operators: BinaryOperator[],
  parseOperand: (stream: TokenStream) => Expression,
): Expression {
  let left = parseOperand(stream);
  while (stream.isOperator(...operators)) {
    const operator = stream.next().value as BinaryOperator;
    left = { type: "binary", operator, left, right: parseOperand(stream) };
  }
  return left;
}

function parseUnary(stream: TokenStream): Expression {
  return parseFilters(stream, parseSigned(stream));
}

function parseSigned(stream: TokenStream): Expression {
  if (stream.skip("operator", "-")) return parsePostfix(stream, { type: "negative", value: parseSigned(stream) });
  if (stream.skip("operator", "+")) return parsePostfix(stream, { type: "positive", value: parseSigned(stream) });
  return parsePostfix(stream, parsePrimary(stream));
}

function parsePrimary(stream: TokenStream): Expression {
  if (stream.is("name")) return parseName(stream);
  if (stream.is("string")) {
    let value = "";
    while (stream.is("string")) value += stream.next().value;
    return { type: "constant", value };
  }
  if (stream.is("number")) return numberConstant(stream.next().value.replaceAll("_", ""));
  if (stream.skip("operator", "(")) {
    const value = parseTuple(stream, { parentheses: true });
    stream.expect("operator", ")");
    return value;
  }
  if (stream.skip("operator", "[")) {
    return { type: "list", items: separated(stream, "]", () => parseExpression(stream)) };
  }
  if (stream.skip("operator", "{")) {
    const entries = separated(stream, "}", (): [Expression, Expression] => {
      const key = parseExpression(stream);
      stream.expect("operator", ":");
      return [key, parseExpression(stream)];
    });
    return { type: "dict", entries };
  }
  return stream.fail("expected an expression");
}

const constants = new Map([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

function parseName(stream: TokenStream): Expression {
  const name = stream.next().value;
  const value = constants.get(name);
  if (value !== undefined) return { type: "constant", value };
  for (const reads of stream.reads) reads.add(name);
  return { type: "name", name };
}

function numberConstant(text: string): Expression {
  const float = /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) && /[.e]/i.test(text);
  if (float) return { type: "constant", value: Number(text), float: true };
  const value = Number(text);
  return { type: "constant", value: Number.isSafeInteger(value) ? value : BigInt(text) };
}

/** Parses the items up to and with the closing bracket. A comma may follow the last one. */
function separated<Item>(stream: TokenStream, closing: string, parseItem: () => Item): Item[] {
  const items: Item[] = [];
  while (!stream.skip("operator", closing)) {
    if (items.length > 0) {
      stream.expect("operator", ",");
      if (stream.skip("operator", closing)) break;
    }
    items.push(parseItem());
  }
  return items;
}

/** Parses one expression, or several with commas between them as a tuple. */
export function parseTuple(
  stream: TokenStream,
  { parentheses = false, inlineIf = true }: { parentheses?: boolean; inlineIf?: boolean } = {},
): Expression {
  const ends = (): boolean => stream.is("end") || stream.is("endPrint") || stream.isOperator(")");
  const items: Expression[] = [];
  let comma = false;
  while (items.length === 0 || comma) {
    if (ends() || (items.length > 0 && stream.isName("recursive"))) break;
    items.push(parseExpression(stream, { inlineIf }));
    comma = stream.skip("operator", ",");
  }
  const [only] = items;
  if (items.length === 1 && !comma && only) return only;
  if (items.length === 0 && !parentheses) stream.fail("expected an expression");
  return { type: "tuple", items };
}

function parsePostfix(stream: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (stream.isOperator(".", "[")) value = parseSubscript(stream, value);
    else if (stream.isOperator("(")) value = { type: "call", callee: value, args: parseArguments(stream) };
    else return value;
  }
}

function parseSubscript(stream: TokenStream, object: Expression): Expression {
  if (stream.next().value === ".") {
    const isName = stream.is("name");
    const token = isName ? stream.next() : stream.expect("number");
    return isName
      ? { type: "attribute", object, name: token.value }
      : { type: "item", object, key: numberConstant(token.value) };
  }
  const part = (): Expression | undefined => (stream.isOperator(":", "]") ? undefined : parseExpression(stream));
  const start = part();
  if (!stream.isOperator(":")) {
    if (!start) stream.fail("expected an index");
    if (!stream.isOperator(",")) {
      stream.expect("operator", "]");
      return { type: "item", object, key: start };
    }
    stream.next();
    return {
      type: "item",
      object,
      key: { type: "tuple", items: [start, ...separated(stream, "]", () => parseExpression(stream))] },
    };
  }
  stream.next();
  const stop = part();
  const step = stream.skip("operator", ":") ? part() : undefined;
  stream.expect("operator", "]");
  return { type: "slice", object, start, stop, step };
}

function parseArguments(stream: TokenStream): Argument[] {
  stream.expect("operator", "(");
  return separated(stream, ")", (): Argument => {
    if (stream.skip("operator", "**")) return { value: parseExpression(stream), spread: "dict" };
    if (stream.skip("operator", "*")) return { value: parseExpression(stream), spread: "list" };
    if (!stream.is("name") || !stream.is("operator", "=", 1)) return { value: parseExpression(stream) };
    const name = stream.next().value;
    stream.next();
    return { value: parseExpression(stream), name };
  });
}

function parseFilters(stream: TokenStream, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (stream.isOperator("|")) value = parseFilter(stream, value);
    else if (stream.isName("is")) value = parseTest(stream, value);
    else if (stream.isOperator("(")) value = { type: "call", callee: value, args: parseArguments(stream) };
    else return value;
  }
}

/** Parses `| name(arguments)`, or without the first bar the filter of a block. */
export function parseFilter(stream: TokenStream, value: Expression | undefined): Expression {
  if (value) stream.expect("operator", "|");
  const name = parseDottedName(stream);
  const args = stream.isOperator("(") ? parseArguments(stream) : [];
  return { type: "filter", name, value, args };
}

function parseTest(stream: TokenStream, value: Expression): Expression {
  stream.expect("name", "is");
  const negated = stream.skip("name", "not");
  const name = parseDottedName(stream);
  let args: Argument[] = [];
  if (stream.isOperator("(")) args = parseArguments(stream);
  else if (
    (stream.is("name") && !stream.isName("else", "or", "and", "is", "if", "in", "not", "recursive")) ||
    stream.is("string") ||
    stream.is("number") ||
    stream.isOperator("[", "{")
  ) {
    args = [{ value: parsePostfix(stream, parsePrimary(stream)) }];
  }
  const test: Expression = { type: "test", name, value, args };
  return negated ? { type: "not", value: test } : test;
}

function parseDottedName(stream: TokenStream): string {
  let name = stream.expect("name").value;
  while (stream.skip("operator", ".")) name += `.${stream.expect("name").value}`;
  return name;
}
