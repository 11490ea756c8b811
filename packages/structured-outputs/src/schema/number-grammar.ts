import type { GrammarBuilder } from "../ebnf.js";
import type { Parts } from "./conjunction.js";
import { having } from "./conjunction.js";
import type { JsonGrammar } from "./json-grammar.js";
import type { SchemaLocation, SchemaObject } from "./keywords.js";
import { invalidSchema, pointerTo, schemaLoc } from "./keywords.js";
import type { Factor } from "./multiples.js";
import { multiplesOf } from "./multiples.js";
import type { Bound } from "./number-range.js";
import { integerRange, numberRange } from "./number-range.js";

/** Writes numbers between the tightest bounds of the schemas, and their multiples. */
export function numberBody(
  type: "number" | "integer",
  parts: Parts,
  builder: GrammarBuilder,
  json: JsonGrammar,
): string {
  const low = tightest([...bounds(parts, "minimum"), ...bounds(parts, "exclusiveMinimum")], 1);
  const high = tightest([...bounds(parts, "maximum"), ...bounds(parts, "exclusiveMaximum")], -1);
  const loc = schemaLoc(parts[0]?.pointer ?? "#");
  const factor = multipleOf(type, parts);
  if (factor !== undefined && !(factor.value === 1 && type === "integer"))
    return multiplesOf(factor, low, high, builder);
  if (!low && !high) return type === "integer" ? json.integer() : json.number();
  return type === "integer" ? integerRange(low, high, loc) : numberRange(low, high, loc);
}

function bounds(parts: Parts, keyword: string): Bound[] {
  return having(parts, keyword).map(({ schema, pointer }) => {
    const value = schema[keyword];
    if (typeof value !== "number" || !Number.isFinite(value))
      throw invalidSchema(pointerTo(pointer, keyword), `${keyword} must be a number`);
    return { value, exclusive: keyword.startsWith("exclusive") };
  });
}

/** Returns the tightest bound. `direction` is 1 for lower bounds, -1 for upper ones. */
function tightest(found: readonly Bound[], direction: 1 | -1): Bound | undefined {
  return found
    .toSorted((one, other) => (other.value - one.value) * direction || Number(other.exclusive) - Number(one.exclusive))
    .at(0);
}

/** Returns the least common multiple of all factors, with 1 for integers. */
function multipleOf(type: "number" | "integer", parts: Parts): Factor | undefined {
  const factors = having(parts, "multipleOf").map(factorOf);
  const [first, ...others] = factors;
  if (!first) return undefined;
  if (others.length === 0 && type === "number") return first;
  return factors.reduce<Factor>(
    (one, other) => {
      const fraction = [one, other].find(({ value }) => !Number.isInteger(value));
      if (fraction)
        throw invalidSchema(
          fraction.pointer,
          "multipleOf of a fraction is not supported for integers or beside another",
        );
      return { value: (one.value / divisor(one.value, other.value)) * other.value, pointer: other.pointer };
    },
    { value: 1, pointer: first.pointer },
  );
}

function factorOf({ schema, pointer }: SchemaLocation<SchemaObject>): Factor {
  const at = pointerTo(pointer, "multipleOf");
  const value = schema.multipleOf;
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return { value, pointer: at };
  throw invalidSchema(at, "multipleOf must be a number above 0");
}

function divisor(one: number, other: number): number {
  return other === 0 ? one : divisor(other, one % other);
}
