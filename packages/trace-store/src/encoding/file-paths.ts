/**
 * The first key of `files` in a custom-type value, however deep, that would lead out of the folder into which clients
 * unpack these files: an absolute path, or one with a `..` step. `val` is strict JSON text.
 */
export function unsafeFilePath(val: string): string | undefined {
  // No key reads "files" unless it is spelled so or with escapes.
  if (!val.includes("files") && !val.includes("\\u")) return undefined;
  return search(JSON.parse(val));
}

function search(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { _type: type, files }: { _type?: unknown; files?: unknown } = value;
  if (type === "CustomWeaveType" && typeof files === "object" && files !== null) {
    const unsafe = Object.keys(files).find(isUnsafe);
    if (unsafe !== undefined) return unsafe;
  }
  for (const member of Object.values(value)) {
    const found = search(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isUnsafe(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes("..");
}
