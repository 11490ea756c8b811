import type { ParameterEntry, ParametersEntry } from "../operations/definition.js";
import type { Detail } from "../problem.js";
import { detailsOf } from "../validation/validation.js";
import type { Validator } from "../validation/validation.js";

/**
 * Turns the texts of parameters into what the spec says they are, fills in defaults and checks the whole; what is wrong
 * is added to `mistakes`. A text that is not a number or boolean stays a text, which the validator reports.
 */
export function readParameters(
  location: "path" | "query" | "header",
  { entries, validator }: ParametersEntry,
  validators: Readonly<Record<string, Validator>>,
  read: (name: string) => string[],
  mistakes: Detail[],
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const entry of entries) {
    const texts = read(entry.name);
    if (texts.length > 0)
      result[entry.name] = entry.array ? texts.map((text) => parse(text, entry)) : parse(texts.at(-1) ?? "", entry);
    else if (entry.default !== undefined) result[entry.name] = entry.default;
  }
  const check = validators[validator];
  if (check !== undefined && !check(result)) mistakes.push(...detailsOf(check.errors, [location], result));
  return result;
}

function parse(text: string, { type }: ParameterEntry): unknown {
  if (type === "integer" && /^[+-]?\d+$/.test(text)) return Number(text);
  if (type === "number" && /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  if (type === "boolean") return booleans[text.toLowerCase()] ?? text;
  return text;
}

const booleans: Record<string, boolean | undefined> = { true: true, "1": true, false: false, "0": false };
