import { tokenize } from "./lexer.js";
import { parseExpression, parseFilter, parseTuple } from "./parse-expression.js";
import type { Expression, MacroDefinition, Parameter, Statement, Target } from "./syntax.js";
import { TokenStream } from "./token-stream.js";

/** Parses a template. Throws a `TemplateError` with the line of a mistake. */
export function parseTemplate(source: string): Statement[] {
  const stream = new TokenStream(tokenize(source));
  const body = parseBody(stream, []);
  if (stream.current) stream.fail("unexpected end of a block");
  return body;
}

/** Parses statements up to the tag with one of the names, whose `{%` and name are not consumed. */
function parseBody(stream: TokenStream, ends: string[]): Statement[] {
  const body: Statement[] = [];
  while (stream.current) {
    if (stream.is("begin") && ends.some((name) => stream.is("name", name, 1))) return body;
    if (stream.is("text")) {
      body.push({ type: "text", text: stream.next().value });
    } else if (stream.skip("print")) {
      body.push({ type: "print", value: parseTuple(stream) });
      stream.expect("endPrint");
    } else {
      stream.expect("begin");
      body.push(parseStatement(stream));
    }
  }
  if (ends.length > 0) stream.fail(`expected {% ${ends.at(-1)} %}`);
  return body;
}

/** Parses the body of a block up to and with its end tag. */
function parseBlock(stream: TokenStream, end: string): Statement[] {
  stream.expect("end");
  const body = parseBody(stream, [end]);
  stream.expect("begin");
  stream.expect("name", end);
  stream.expect("end");
  return body;
}

function parseStatement(stream: TokenStream): Statement {
  const token = stream.expect("name");
  switch (token.value) {
    case "if":
      return parseIf(stream);
    case "for":
      return parseFor(stream);
    case "set":
      return parseSet(stream);
    case "with":
      return parseWith(stream);
    case "macro":
      return { type: "macro", macro: parseMacro(stream, stream.expect("name").value, "endmacro") };
    case "call":
      return parseCallBlock(stream);
    case "filter": {
      const filter = parseFilterChain(stream);
      return { type: "filterBlock", filter, body: parseBlock(stream, "endfilter") };
    }
    case "generation":
      return { type: "generation", body: parseBlock(stream, "endgeneration") };
    case "break":
    case "continue":
      stream.expect("end");
      return { type: token.value };
    default:
      return stream.fail(`unknown tag ${token.value}`);
  }
}

function parseIf(stream: TokenStream): Statement {
  const condition = parseTuple(stream, { inlineIf: false });
  stream.expect("end");
  const whenTrue = parseBody(stream, ["elif", "else", "endif"]);
  stream.expect("begin");
  const next = stream.expect("name").value;
  let otherwise: Statement[] = [];
  if (next === "elif") otherwise = [parseIf(stream)];
  else if (next === "else") otherwise = parseBlock(stream, "endif");
  else stream.expect("end");
  return { type: "if", condition, whenTrue, otherwise };
}

function parseFor(stream: TokenStream): Statement {
  const target = parseTarget(stream);
  stream.expect("name", "in");
  const iterable = parseTuple(stream, { inlineIf: false });
  const condition = stream.skip("name", "if") ? parseExpression(stream) : undefined;
  const recursive = stream.skip("name", "recursive");
  stream.expect("end");
  const body = parseBody(stream, ["endfor", "else"]);
  stream.expect("begin");
  let otherwise: Statement[] = [];
  if (stream.next().value === "else") otherwise = parseBlock(stream, "endfor");
  else stream.expect("end");
  return { type: "for", target, iterable, condition, recursive, body, otherwise };
}

function parseSet(stream: TokenStream): Statement {
  const target = parseTarget(stream, { attributes: true });
  if (stream.skip("operator", "=")) {
    const value = parseTuple(stream);
    stream.expect("end");
    return { type: "set", target, value };
  }
  const filter = stream.skip("operator", "|") ? parseFilterChain(stream) : undefined;
  return { type: "setBlock", target, filter, body: parseBlock(stream, "endset") };
}

function parseWith(stream: TokenStream): Statement {
  const targets: [Target, Expression][] = [];
  while (!stream.is("end")) {
    if (targets.length > 0) stream.expect("operator", ",");
    const target = parseTarget(stream, { single: true });
    stream.expect("operator", "=");
    targets.push([target, parseExpression(stream)]);
  }
  return { type: "with", targets, body: parseBlock(stream, "endwith") };
}

function parseCallBlock(stream: TokenStream): Statement {
  const parameters = stream.isOperator("(") ? parseParameters(stream) : [];
  const call = parseExpression(stream);
  if (call.type !== "call") return stream.fail("expected a call");
  return { type: "callBlock", call, caller: macroOf(stream, "caller", parameters, "endcall") };
}

function parseMacro(stream: TokenStream, name: string, end: string): MacroDefinition {
  return macroOf(stream, name, parseParameters(stream), end);
}

function macroOf(stream: TokenStream, name: string, parameters: Parameter[], end: string): MacroDefinition {
  const reads = new Set<string>();
  stream.reads.push(reads);
  const body = parseBlock(stream, end);
  stream.reads.pop();
  return { name, parameters, body, reads };
}

function parseParameters(stream: TokenStream): Parameter[] {
  const parameters: Parameter[] = [];
  stream.expect("operator", "(");
  while (!stream.skip("operator", ")")) {
    if (parameters.length > 0) stream.expect("operator", ",");
    if (parameters.length > 0 && stream.skip("operator", ")")) break;
    const name = stream.expect("name").value;
    parameters.push({ name, value: stream.skip("operator", "=") ? parseExpression(stream) : undefined });
  }
  return parameters;
}

/** Parses the filters of a block. The first is not preceded by a bar. */
function parseFilterChain(stream: TokenStream): Expression {
  let filter = parseFilter(stream, undefined);
  while (stream.isOperator("|")) filter = parseFilter(stream, filter);
  return filter;
}

function parseTarget(stream: TokenStream, { attributes = false, single = false } = {}): Target {
  const items: Target[] = [];
  let comma = false;
  while (items.length === 0 || comma) {
    if (items.length > 0 && !stream.is("name") && !stream.isOperator("(")) break;
    items.push(parseOneTarget(stream, attributes));
    comma = !single && stream.skip("operator", ",");
  }
  const [only] = items;
  return items.length === 1 && !comma && only ? only : { type: "tuple", items };
}

function parseOneTarget(stream: TokenStream, attributes: boolean): Target {
  if (stream.skip("operator", "(")) {
    const inner = parseTarget(stream, { attributes });
    stream.expect("operator", ")");
    return inner;
  }
  const name = stream.expect("name").value;
  if (!attributes || !stream.skip("operator", ".")) return { type: "name", name };
  return { type: "attribute", object: name, name: stream.expect("name").value };
}
