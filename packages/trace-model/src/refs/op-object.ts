import { createHash } from "node:crypto";
import { firstCharacters, hasAtMost } from "@heddle/exact-json";
import { isObjectId } from "../objects/names.js";

const maxNameLength = 128;
const hashLength = 8;
/** What ids of changed names end in: names that end like one are changed as well, so that no name is the id of another. */
const hashed = /--[0-9a-f]{8}$/;

/** The op name of a span: its name; a longer one than an op may have ends in a hash that keeps it apart from others. */
export function spanOpName(name: string): string {
  if (name === "") return "span";
  if (hasAtMost(name, maxNameLength)) return name;
  return `${firstCharacters(name, maxNameLength - 5)}:${hashOf(name).slice(0, 4)}`;
}

/**
 * The object id of the op of a name: the name. One that no object can have keeps what it can and ends in a hash of the
 * whole: two names are never one op.
 */
export function opObjectId(name: string): string {
  if (isObjectId(name) && !hashed.test(name)) return name;
  const kept = firstCharacters(name, maxNameLength).match(/[\p{L}\p{M}\p{N}_.-]+/gu) ?? [];
  const start = firstCharacters(kept.join("-"), maxNameLength - hashLength - "--".length);
  return `${start === "" ? "span" : start}--${hashOf(name).slice(0, hashLength)}`;
}

function hashOf(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}
