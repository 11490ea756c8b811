import { HeddleError } from "@heddle/errors";
import { fromNanoseconds } from "../time.js";
import type { Decoding } from "./decoding.js";

/* Fields of OTLP messages in JSON: keys in camelCase or snake_case. */

export type Fields = Record<string, unknown>;

export function fields(value: unknown): Fields {
  if (!isFields(value)) throw new HeddleError("invalid", "expected an object");
  return value;
}

/** The object of a field; empty when there is none. */
export function object(value: Fields, name: string): Fields {
  const content = pick(value, name) ?? {};
  if (!isFields(content)) throw new HeddleError("invalid", `${name} is no object`);
  return content;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A field without which the rest is still of use; undefined when it cannot be read. */
export function lenient<T>(
  read: (value: Fields, name: string) => T,
  value: Fields,
  name: string,
  decoding: Decoding,
): T | undefined {
  try {
    return read(value, name);
  } catch (error) {
    decoding.failed(error);
    return undefined;
  }
}

/** The member under its camelCase name, else under its snake_case name. */
export function pick(value: Fields, name: string): unknown {
  return value[name] ?? value[snakeCase(name)];
}

function snakeCase(name: string): string {
  let result = snakeNames.get(name);
  if (result === undefined) {
    result = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, result);
  }
  return result;
}

/** Most fields of a span are absent, so that both names of them are asked for. */
const snakeNames = new Map<string, string>();

export function list(value: Fields, name: string): unknown[] {
  const content = pick(value, name) ?? [];
  if (!Array.isArray(content)) throw new HeddleError("invalid", `${name} is no list`);
  return content;
}

export function text(value: Fields, name: string): string {
  const content = pick(value, name) ?? "";
  if (typeof content !== "string") throw new HeddleError("invalid", `${name} is no text`);
  return content;
}

export function count(value: Fields, name: string): number {
  return Number(pick(value, name)) || 0;
}

/** An id in hex digits. Base64, as generic protobuf libraries write bytes, is told apart by its padding. */
export function hexId(value: Fields, name: string): string {
  const id = text(value, name);
  if (/^[0-9a-f]*$/.test(id)) return id;
  if (/^(?:[A-Za-z0-9+/]{11}=|[A-Za-z0-9+/]{22}==)$/.test(id)) return Buffer.from(id, "base64").toString("hex");
  const lower = id.toLowerCase();
  if (!/^[0-9a-f]*$/.test(lower)) throw new HeddleError("invalid", `${name} is not written in hex digits`);
  return lower;
}

export function microseconds(value: Fields, name: string): bigint {
  const time = integer(pick(value, name) ?? 0, name);
  if (time < 0n || time >= 2n ** 64n) throw new HeddleError("invalid", `${name} is no time since 1970 in nanoseconds`);
  return fromNanoseconds(time);
}

/** Digits as a number or as text, or the two halves that some JavaScript exporters write. */
export function integer(value: unknown, name: string): bigint {
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  if (typeof value === "string" && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  if (typeof value === "object" && value !== null) {
    const { low, high } = value as Fields;
    if (Number.isInteger(low) && Number.isInteger(high)) {
      return BigInt.asIntN(64, (BigInt(Number(high)) << 32n) | BigInt.asUintN(32, BigInt(Number(low))));
    }
  }
  throw new HeddleError("invalid", `${name} is not an integer`);
}

/** A number, or a name with or without its prefix; 0 when it is neither. */
export function enumeration(
  value: Fields,
  name: string,
  prefix: string,
  names: readonly string[],
  decoding: Decoding,
): number {
  const content = pick(value, name) ?? 0;
  if (typeof content === "number") return content;
  const known = typeof content === "string" ? names.indexOf(content.replace(prefix, "")) : -1;
  if (known < 0) decoding.unreadable(`${name} is none of ${names.join(", ")}`);
  return Math.max(known, 0);
}
