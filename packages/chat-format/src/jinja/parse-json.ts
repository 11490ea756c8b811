import { TemplateError } from "./template-error.js";

/**
 * A value of a JSON text with the numbers kept apart: a `bigint` is written without a fraction or exponent, a `number`
 * with one. An object is a `Map`.
 */
export type ExactJson = null | boolean | string | bigint | number | ExactJson[] | ExactObject;
export type ExactObject = Map<string, ExactJson>;

const maxDepth = 200;
const mostDigits = 4300;
const token =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\]|\\.)*")|(-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?)|(true|false|null|NaN|-?Infinity))/y;
const literals = new Map<string, null | boolean | number>([
  ["true", true],
  ["false", false],
  ["null", null],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** Parses what Python's `json.loads` parses. Throws a `TemplateError` for other text. */
export function parseExactJson(text: string): ExactJson {
  let at = 0;
  const value = parseValue(next(), 0);
  if (text.slice(at).trim() !== "") fail();
  return value;

  function fail(): never {
    throw new TemplateError(`invalid JSON at character ${at}`);
  }

  function next(): RegExpExecArray {
    token.lastIndex = at;
    const found = token.exec(text) ?? fail();
    at = token.lastIndex;
    return found;
  }

  function parseValue(
    [, sign, string, number, fraction, exponent, literal]: RegExpExecArray,
    depth: number,
  ): ExactJson {
    if (depth > maxDepth) fail();
    if (sign === "[") return parseList(depth + 1);
    if (sign === "{") return parseObject(depth + 1);
    if (string !== undefined) return parseText(string);
    // Python refuses longer integers, whose conversion takes more than linear time.
    if (number !== undefined && !fraction && !exponent && number.length > mostDigits) fail();
    if (number !== undefined) return fraction || exponent ? Number(number) : BigInt(number);
    return literal === undefined ? fail() : (literals.get(literal) ?? null);
  }

  function parseText(string: string): string {
    try {
      return JSON.parse(string) as string;
    } catch {
      return fail();
    }
  }

  function parseList(depth: number): ExactJson[] {
    const items: ExactJson[] = [];
    let found = next();
    if (found[1] === "]") return items;
    for (;;) {
      items.push(parseValue(found, depth));
      const sign = next()[1];
      if (sign === "]") return items;
      if (sign !== ",") fail();
      found = next();
    }
  }

  function parseObject(depth: number): ExactObject {
    const object: ExactObject = new Map();
    let found = next();
    if (found[1] === "}") return object;
    for (;;) {
      const key = found[2] === undefined ? fail() : parseText(found[2]);
      if (next()[1] !== ":") fail();
      object.set(key, parseValue(next(), depth));
      const sign = next()[1];
      if (sign === "}") return object;
      if (sign !== ",") fail();
      found = next();
    }
  }
}
