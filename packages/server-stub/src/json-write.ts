import { RawJson } from "./raw-json.js";

/**
 * `JSON.stringify` for responses: the text of `RawJson` is emitted as it is, a bigint as its digits.
 * Numbers that JSON cannot hold are null, keys whose value is undefined are left out.
 */
export function writeJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return Number.isFinite(value) ? String(value) : "null";
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return value.toString();
    case "object":
      return value === null ? "null" : writeObject(value);
    default:
      return "null";
  }
}

function writeObject(value: object): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) {
    let text = "[";
    for (let index = 0; index < value.length; index++) {
      if (index > 0) text += ",";
      text += writeJson(value[index]);
    }
    return `${text}]`;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return writeJson(value.toJSON());
  let text = "{";
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined || typeof item === "function") continue;
    if (text.length > 1) text += ",";
    text += `${quote(key)}:${writeJson(item)}`;
  }
  return `${text}}`;
}

/** Most strings need no escape, and then quoting by hand is several times faster. */
function quote(text: string): string {
  return needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Characters that need an escape: quotes, backslashes, control characters, surrogates. */
const needsEscape = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;
