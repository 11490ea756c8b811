import { arrayItems, jsonType, memberOf, objectEntries, stringValue, type JsonText } from "@heddle/trace-model";

/**
 * The first key of `files` in a custom-type value, however deep, that would lead out of the folder into which clients
 * unpack these files: an absolute path, or one with a `..` step.
 */
export function unsafeFilePath(val: JsonText): string | undefined {
  // No key reads "files" unless it is spelled so or with escapes.
  if (!val.includes("files") && !val.includes("\\u")) return undefined;
  if (jsonType(val) === "array") return firstOf(arrayItems(val), unsafeFilePath);
  if (jsonType(val) !== "object") return undefined;
  if (stringValue(memberOf(val, "_type") ?? "null") === "CustomWeaveType") {
    const unsafe = objectEntries(val)
      .filter(({ key }) => key === "files")
      .flatMap(({ value }) => objectEntries(value))
      .find(({ key }) => isUnsafe(key));
    if (unsafe !== undefined) return unsafe.key;
  }
  return firstOf(
    objectEntries(val).map(({ value }) => value),
    unsafeFilePath,
  );
}

function isUnsafe(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes("..");
}

function firstOf(values: readonly JsonText[], search: (val: JsonText) => string | undefined): string | undefined {
  for (const value of values) {
    const found = search(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
