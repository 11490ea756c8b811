import { isContentDigest } from "../digest.js";
import { hasAtMost } from "@heddle/exact-json";

/** Names of objects and ops: 1 to 128 characters of letters (with their marks) and digits of any script, `_`, `.` and `-`. */
export function isObjectId(text: string): boolean {
  return /^[\p{L}\p{M}\p{N}_.-]{1,128}$/u.test(text);
}

/** Words of letters (with their marks), digits, `-` and `_`, joined by single spaces; at most 256 characters. */
export function isTag(text: string): boolean {
  return hasAtMost(text, 256) && /^[-_\p{L}\p{M}\p{N}]+(?: [-_\p{L}\p{M}\p{N}]+)*$/u.test(text);
}

/** Not blank, at most 128 characters, no `/` or `:`, and nothing that reads as a version (`latest`, `v3`). */
export function isAlias(text: string): boolean {
  return text.trim() !== "" && hasAtMost(text, 128) && !/[/:]/.test(text) && text !== "latest" && !/^v\d+$/.test(text);
}

export type VersionLabel =
  | { by: "latest" }
  | { by: "index"; index: number }
  | { by: "digest"; digest: string }
  | { by: "alias"; alias: string };

/** What a version label in a ref or request asks for. */
export function parseVersionLabel(label: string): VersionLabel {
  if (label === "latest") return { by: "latest" };
  if (/^v\d+$/.test(label)) return { by: "index", index: Number(label.slice(1)) };
  return isContentDigest(label) ? { by: "digest", digest: label } : { by: "alias", alias: label };
}
