import type { Loc } from "@heddle/errors";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";

/** Returns an `invalid` error about the value at a location. */
export function invalidAt(loc: Loc, message: string): HeddleError {
  return new HeddleError("invalid", message, { loc });
}

export function objectAt(value: unknown, loc: Loc): Record<string, unknown> {
  if (isJsonObject(value)) return value;
  throw invalidAt(loc, `${nameOf(loc)} must be an object`);
}

export function listAt(value: unknown, loc: Loc): unknown[] {
  if (Array.isArray(value)) return value;
  throw invalidAt(loc, `${nameOf(loc)} must be a list`);
}

/** Returns an empty object for a missing value and for null. */
export function optionalObjectAt(value: unknown, loc: Loc): Record<string, unknown> {
  return value === undefined || value === null ? {} : objectAt(value, loc);
}

/** Returns an empty list for a missing value and for null. */
export function optionalListAt(value: unknown, loc: Loc): unknown[] {
  return value === undefined || value === null ? [] : listAt(value, loc);
}

export function finiteAt(value: unknown, loc: Loc): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const given = value === undefined ? "missing" : typeof value === "number" ? String(value) : `a ${typeof value}`;
  throw invalidAt(loc, `${nameOf(loc)} must be a finite number, is ${given}`);
}

export function optionalIntegerAt(value: unknown, loc: Loc): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw invalidAt(loc, `${nameOf(loc)} must be an integer`);
}

/** Returns the last name of a location with the positions after it: `trajectories[1]`. */
function nameOf(loc: Loc): string {
  const last = loc.findLastIndex((step) => typeof step === "string");
  return (
    loc
      .slice(Math.max(last, 0))
      .map((step) => (typeof step === "number" ? `[${step}]` : step))
      .join("") || "the value"
  );
}
