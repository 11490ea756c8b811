import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import { fromNanoseconds } from "../time.js";
import type { Decoding } from "./decoding.js";

/* Fields of OTLP messages in JSON: keys in camelCase or snake_case. */

export type Fields = Record<string, unknown>;

export function fields(value: unknown): Fields {
  if (!isJsonObject(value)) throw new HeddleError("invalid", "expected an object");
  return value;
}

/** The member under its camelCase name, else under its snake_case name. */
function pick(value: Fields, name: string): unknown {
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
  if (!Array.isArray(content)) throw new HeddleError("invalid", `${name} is not a list`);
  return content;
}

/** The objects of a list; what is none is left out. */
export function objects(value: Fields, name: string, decoding: Decoding): Fields[] {
  const content = pick(value, name);
  if (content === undefined || content === null) return none;
  if (!Array.isArray(content)) {
    decoding.unreadable(`${name} is not a list`);
    return none;
  }
  if (content.every(isJsonObject)) return content;
  decoding.unreadable(`${name} has items that are not objects`);
  return content.filter(isJsonObject);
}

const none: Fields[] = [];

/** The object of a field; empty when there is none. */
export function object(value: Fields, name: string, decoding: Decoding): Fields {
  const content = pick(value, name) ?? {};
  if (isJsonObject(content)) return content;
  decoding.unreadable(`${name} is not an object`);
  return {};
}

/** Empty when there is none. */
export function text(value: Fields, name: string, decoding: Decoding): string {
  const content = pick(value, name) ?? "";
  if (typeof content === "string") return content;
  decoding.unreadable(`${name} is not a string`);
  return "";
}

export function count(value: Fields, name: string): number {
  return Number(pick(value, name)) || 0;
}

/** As {@link hexId}, of what the span is stored without. */
export function optionalId(value: Fields, name: string, decoding: Decoding): string {
  try {
    return hexId(value, name);
  } catch (error) {
    decoding.failed(error);
    return "";
  }
}

/** An id in hex digits. Base64, as generic protobuf libraries write bytes, is told apart by its padding. */
export function hexId(value: Fields, name: string): string {
  const id = pick(value, name) ?? "";
  if (typeof id !== "string") throw new HeddleError("invalid", `${name} is not a string`);
  if (id === "" || /^[0-9a-f]+$/.test(id)) return id;
  if (/^(?:[A-Za-z0-9+/]{11}=|[A-Za-z0-9+/]{22}==)$/.test(id)) return Buffer.from(id, "base64").toString("hex");
  const lower = id.toLowerCase();
  if (!/^[0-9a-f]*$/.test(lower)) throw new HeddleError("invalid", `${name} is not written in hex digits`);
  return lower;
}

/** 0 when there is none. */
export function microseconds(value: Fields, name: string, decoding: Decoding): bigint {
  const content = pick(value, name) ?? 0;
  try {
    const time = integer(content, name);
    if (time >= 0n && time <= latest) return fromNanoseconds(time);
    decoding.unreadable(`${name} is not a time since 1970 in nanoseconds`);
  } catch (error) {
    decoding.failed(error);
  }
  return 0n;
}

const latest = 2n ** 64n - 1n;

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
