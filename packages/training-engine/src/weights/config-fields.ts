import { EngineError } from "../engine-error.js";
import { isJsonObject, type JsonObject } from "./json-object.js";

/** Typed access to the fields of a configuration file; each refusal names file and field. `null` counts as absent. */
export interface ConfigFields {
  names(): string[];
  /** A whole number from 1 to `largest`. */
  count(name: string, largest: number, otherwise?: number): number;
  /** A finite number above zero. */
  positive(name: string, otherwise?: number): number;
  flag(name: string, otherwise: boolean): boolean;
  text(name: string): string | undefined;
  object(name: string): ConfigFields | undefined;
  value(name: string): unknown;
  invalid(name: string, what: string): EngineError;
  /** For what is valid but would be computed wrongly here. */
  unsupported(name: string, what: string): EngineError;
}

/** @param place the file, or the file and the field that holds `json`. */
export function configFields(json: JsonObject, place: string): ConfigFields {
  const value = (name: string) => (Object.hasOwn(json, name) ? (json[name] ?? undefined) : undefined);
  const error = (code: "invalid" | "unsupported", name: string, what: string) =>
    new EngineError(code, `${place}: ${name} ${what}`, `${place}.${name}`);
  const number = (name: string, otherwise: number | undefined, kind: string, isRight: (is: number) => boolean) => {
    const given = value(name) ?? otherwise;
    if (given === undefined) throw error("invalid", name, "is missing");
    if (typeof given !== "number" || !isRight(given)) throw error("invalid", name, `is ${shown(given)}, not ${kind}`);
    return given;
  };
  return {
    names: () => Object.keys(json),
    value,
    invalid: (name, what) => error("invalid", name, what),
    unsupported: (name, what) => error("unsupported", name, what),
    count: (name, largest, otherwise) =>
      number(
        name,
        otherwise,
        `a whole number from 1 to ${largest}`,
        (is) => Number.isInteger(is) && is >= 1 && is <= largest,
      ),
    positive: (name, otherwise) =>
      number(name, otherwise, "a number above zero", (is) => Number.isFinite(is) && is > 0),
    flag: (name, otherwise) => {
      const given = value(name) ?? otherwise;
      if (typeof given !== "boolean") throw error("invalid", name, `is ${shown(given)}, not true or false`);
      return given;
    },
    text: (name) => {
      const given = value(name);
      if (given !== undefined && typeof given !== "string")
        throw error("invalid", name, `is ${shown(given)}, not a text`);
      return given;
    },
    object: (name) => {
      const given = value(name);
      if (given !== undefined && !isJsonObject(given))
        throw error("invalid", name, `is ${shown(given)}, not an object`);
      return given && configFields(given, `${place}.${name}`);
    },
  };
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
