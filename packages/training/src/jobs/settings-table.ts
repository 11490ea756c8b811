import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";

export interface SettingsTable {
  /** Returns a finite number in the range, bounds included. */
  number(names: string | string[], range: { min: number; max: number }): number | undefined;
  integer(name: string, range: { min: number; max: number }): number | undefined;
  flag(name: string): boolean | undefined;
  choice<const T extends string>(name: string, options: readonly T[]): T | undefined;
  text(name: string): string | undefined;
  /** Returns the value of a setting that has several forms; undefined for null. */
  any(name: string): unknown;
  /** Returns the error for a setting, or for the item `index` of a setting that is a list. */
  refuse(name: string, message: string, index?: number): HeddleError;
  /** Returns the names of the settings that have not been read. */
  unread(): string[];
}

/**
 * Reads a table of settings. Null, like an absent key, means the default, because clients send null for settings that
 * the user did not change. Every method returns undefined for the default and throws `invalid` with the
 * location of an unsupported value.
 */
export function settingsTable(value: unknown, loc: Loc): SettingsTable {
  if (value !== undefined && value !== null && (typeof value !== "object" || Array.isArray(value))) {
    throw new HeddleError("invalid", "The settings must be an object.", { loc });
  }
  const entries = new Map<string, unknown>(Object.entries(value ?? {}));
  const read = new Set<string>();
  const table: SettingsTable = { number, integer, flag, choice, text, any, refuse, unread };
  return table;

  function any(name: string): unknown {
    read.add(name);
    return entries.get(name) ?? undefined;
  }

  function refuse(name: string, message: string, index?: number): HeddleError {
    return new HeddleError("invalid", index === undefined ? `${name} ${message}` : `${name}[${index}] ${message}`, {
      loc: index === undefined ? [...loc, name] : [...loc, name, index],
    });
  }

  function number(names: string | string[], range: { min: number; max: number }): number | undefined {
    const given = [names].flat().filter((name) => any(name) !== undefined);
    const [name, other] = given;
    if (name === undefined) return undefined;
    const found = any(name);
    if (typeof found !== "number" || !Number.isFinite(found) || found < range.min || found > range.max) {
      throw refuse(name, `must be a number from ${range.min} to ${range.max}, not ${formatValue(found)}.`);
    }
    if (other !== undefined && any(other) !== found)
      throw refuse(other, `is an alias of ${name}; their values differ.`);
    return found;
  }

  function integer(name: string, range: { min: number; max: number }): number | undefined {
    const found = number(name, range);
    if (found !== undefined && !Number.isInteger(found)) throw refuse(name, `must be an integer, not ${found}.`);
    return found;
  }

  function flag(name: string): boolean | undefined {
    const found = any(name);
    if (found === undefined || typeof found === "boolean") return found;
    throw refuse(name, `must be true or false, not ${formatValue(found)}.`);
  }

  function choice<const T extends string>(name: string, options: readonly T[]): T | undefined {
    const found = any(name);
    if (found === undefined) return undefined;
    const option = options.find((each) => each === found);
    if (option === undefined) throw refuse(name, `must be one of ${options.join(", ")}, not ${formatValue(found)}.`);
    return option;
  }

  function text(name: string): string | undefined {
    const found = any(name);
    if (found === undefined || typeof found === "string") return found;
    throw refuse(name, `must be text, not ${formatValue(found)}.`);
  }

  function unread(): string[] {
    return [...entries.keys()].filter((name) => !read.has(name)).toSorted();
  }
}

export function formatValue(value: unknown): string {
  if (typeof value === "number") return String(value);
  return (JSON.stringify(value) ?? typeof value).slice(0, 80);
}
