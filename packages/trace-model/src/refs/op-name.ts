import { hasAtMost } from "@heddle/exact-json";
import { decodeRefPart } from "./ref.js";

/*
 * An op_name is the ref of an op version or free text. Both rules below are also spelled in the store's SQL.
 */

/** Groups the versions of an op: the ref up to its last `:`, or the free text itself. */
export function opKey(opName: string): string {
  return isOpRef(opName) ? opName.slice(0, versionColon(opName)) : opName;
}

/** The readable part: the last path segment of the ref up to its first `:`, decoded, or the free text itself. */
export function opNamePart(opName: string): string {
  if (!isOpRef(opName)) return opName;
  const segment = opName.slice(opName.lastIndexOf("/") + 1);
  const colon = segment.indexOf(":");
  const name = colon < 0 ? segment : segment.slice(0, colon);
  return decodeRefPart(name) ?? name;
}

/** Op names are refs of any length or free text of at most 128 characters. */
export function isOpName(text: string): boolean {
  return isOpRef(text) || (text.length > 0 && hasAtMost(text, 128));
}

function isOpRef(opName: string): boolean {
  return opName.startsWith("weave:///");
}

function versionColon(opName: string): number {
  const colon = opName.lastIndexOf(":");
  return colon > "weave:///".length ? colon : opName.length;
}
