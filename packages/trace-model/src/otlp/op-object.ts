import { createHash } from "node:crypto";
import { firstCharacters, hasAtMost } from "../json/code-points.js";

const maxNameLength = 128;

/** The op name of a span: its name; a longer one than an op may have ends in a hash that keeps it apart from others. */
export function spanOpName(name: string): string {
  if (name === "") return "span";
  if (hasAtMost(name, maxNameLength)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 4);
  const kept = firstCharacters(name, maxNameLength - 5);
  return `${kept}:${hash}`;
}

/** Name of the op object of an op name: characters that an object id may not have become `-`. */
export function opObjectId(opName: string): string {
  const id = opName.replace(/[^A-Za-z0-9_.-]+/g, "-").slice(0, maxNameLength);
  return id === "" ? "span" : id;
}
