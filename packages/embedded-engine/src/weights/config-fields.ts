import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import type { JsonObject } from "@heddle/exact-json";

/** Typed access to the fields of a configuration file; every error names file and field. `null` counts as absent. */
export interface ConfigFields {
  names(): string[];
  /** Returns an integer from 1 to `largest`. */
  count(name: string, largest: number, fallback?: number): number;
  /** Returns a finite number above zero. */
  positive(name: string, fallback?: number): number;
  flag(name: string, fallback: boolean): boolean;
  text(name: string): string | undefined;
  object(name: string): ConfigFields | undefined;
  value(name: string): unknown;
  invalid(name: string, what: string): HeddleError;
  /** Returns the error for a valid value that this engine cannot compute with. */
  unsupported(name: string, what: string): HeddleError;
}

/**
 * @param file the name of the file, for messages.
 * @param parent the field of the file that holds `json`. Default: `json` is the file's own object.
 */
export function configFields(json: JsonObject, file: string, parent?: string): ConfigFields {
  const value = (name: string) => (Object.hasOwn(json, name) ? (json[name] ?? undefined) : undefined);
  const fieldOf = (name: string) => (parent === undefined ? name : `${parent}.${name}`);
  const error = (code: "invalid" | "unsupported", name: string, what: string) =>
    new HeddleError(code, `${file}: ${fieldOf(name)} ${what}`, { details: { file, field: fieldOf(name) } });
  const number = (name: string, fallback: number | undefined, kind: string, isValid: (value: number) => boolean) => {
    const given = value(name) ?? fallback;
    if (given === undefined) throw error("invalid", name, "is missing");
    if (typeof given !== "number" || !isValid(given))
      throw error("invalid", name, `is ${formatValue(given)}, not ${kind}`);
    return given;
  };
  return {
    names: () => Object.keys(json),
    value,
    invalid: (name, what) => error("invalid", name, what),
    unsupported: (name, what) => error("unsupported", name, what),
    count: (name, largest, fallback) =>
      number(
        name,
        fallback,
        `an integer from 1 to ${largest}`,
        (value) => Number.isInteger(value) && value >= 1 && value <= largest,
      ),
    positive: (name, fallback) =>
      number(name, fallback, "a number above zero", (value) => Number.isFinite(value) && value > 0),
    flag: (name, fallback) => {
      const given = value(name) ?? fallback;
      if (typeof given !== "boolean") throw error("invalid", name, `is ${formatValue(given)}, not true or false`);
      return given;
    },
    text: (name) => {
      const given = value(name);
      if (given !== undefined && typeof given !== "string")
        throw error("invalid", name, `is ${formatValue(given)}, not text`);
      return given;
    },
    object: (name) => {
      const given = value(name);
      if (given !== undefined && !isJsonObject(given))
        throw error("invalid", name, `is ${formatValue(given)}, not an object`);
      return given && configFields(given, file, fieldOf(name));
    },
  };
}

export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
