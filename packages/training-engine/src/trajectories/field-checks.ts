import { EngineError } from "../engine-error.js";
import { isObject } from "../text/model-file.js";

/** `invalid` at a place: what was expected there. */
export function invalidAt(path: string, what: string): EngineError {
  return new EngineError("invalid", `${path}: ${what}`, path);
}

export function objectAt(value: unknown, path: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw invalidAt(path, "not an object");
}

export function listAt(value: unknown, path: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw invalidAt(path, "not a list");
}

/** Missing and null are nothing. */
export function optionalObjectAt(value: unknown, path: string): Record<string, unknown> {
  return value === undefined || value === null ? {} : objectAt(value, path);
}

export function optionalListAt(value: unknown, path: string): unknown[] {
  return value === undefined || value === null ? [] : listAt(value, path);
}

export function finiteAt(value: unknown, path: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const given = value === undefined ? "missing" : typeof value === "number" ? String(value) : `a ${typeof value}`;
  throw invalidAt(path, `must be a finite number, is ${given}`);
}

export function optionalIntegerAt(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw invalidAt(path, "not an integer");
}
