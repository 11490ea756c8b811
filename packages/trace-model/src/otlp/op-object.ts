import { createHash } from "node:crypto";
import { firstCharacters, hasAtMost } from "@heddle/exact-json";
import { isObjectId } from "../objects/names.js";

const maxNameLength = 128;
const hashLength = 8;

/** The op name of a span: its name; a longer one than an op may have ends in a hash that keeps it apart from others. */
export function spanOpName(name: string): string {
  if (name === "") return "span";
  if (hasAtMost(name, maxNameLength)) return name;
  return `${firstCharacters(name, maxNameLength - 5)}:${hashOf(name).slice(0, 4)}`;
}

/**
 * The object id of the op of a name. Words with single spaces between them, and the method and route of a request, are
 * joined by `-`. Any other name that no object can have keeps what it can and ends in a hash: names that differ in what
 * is left out are different ops.
 */
export function opObjectId(name: string): string {
  if (name === "") return "span";
  const id = joined(name);
  if (isObjectId(id)) return id;
  const kept = firstCharacters(name, maxNameLength).match(/[\p{L}\p{M}\p{N}_.-]+/gu) ?? [];
  const start = firstCharacters(kept.join("-"), maxNameLength - hashLength - 1);
  return `${start === "" ? "span" : start}-${hashOf(name).slice(0, hashLength)}`;
}

/** Whether the id says what the name says; without any letter it may be nothing but a hash. */
export function hasReadableId(name: string): boolean {
  return name.trim() === "" || /\p{L}/u.test(name) || isObjectId(name);
}

const words = /^[^ ]+(?: [^ ]+)*$/;
const request = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/:?[^/ :]+(?:\/:?[^/ :]+)*$/;

function joined(name: string): string {
  if (request.test(name)) return name.replace(/ ?\/:?/g, "-");
  return words.test(name) ? name.replaceAll(" ", "-") : name;
}

function hashOf(name: string): string {
  return createHash("sha256").update(name).digest("hex");
}
