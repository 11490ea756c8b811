import { TemplateError } from "./template-error.js";
import type { Arguments, Value } from "./values.js";
import { Float, typeName } from "./values.js";

/**
 * Returns the values of the parameters, undefined for one that was not given. Throws for an argument too many or with
 * another name, and if fewer than `required` were given.
 */
export function bind(
  name: string,
  { positional, named }: Arguments,
  parameters: readonly string[],
  required = 0,
): Value[] {
  if (positional.length > parameters.length) {
    throw new TemplateError(`${name}() takes at most ${parameters.length} arguments (${positional.length} given)`);
  }
  const values = parameters.map((parameter, at) => (at < positional.length ? positional[at] : named.get(parameter)));
  for (const key of named.keys()) {
    if (parameters.indexOf(key) < positional.length) {
      throw new TemplateError(`${name}() got an unexpected keyword argument '${key}'`);
    }
  }
  const missing = parameters.findIndex(
    (parameter, at) => at < required && at >= positional.length && !named.has(parameter),
  );
  if (missing >= 0) throw new TemplateError(`${name}() misses the argument '${parameters[missing]}'`);
  return values;
}

export function textArgument(name: string, value: Value): string {
  if (typeof value === "string") return value;
  throw new TemplateError(`${name}: expected a string, not ${typeName(value)}`);
}

/** Returns an integer argument, or `fallback` for one that was not given. */
export function integerArgument(name: string, value: Value, fallback: number): number {
  if (value === undefined || value === null) return fallback;
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  if (value instanceof Float && Number.isInteger(value.value)) return value.value;
  throw new TemplateError(`${name}: expected an integer, not ${typeName(value)}`);
}
