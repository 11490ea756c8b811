import { decodeString, spaceEnd, stringEnd } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";

/** A list or an object that is open. */
interface Open {
  isObject: boolean;
  /** Of an object: the name of the member at hand. */
  name: string;
  /** Of an object: its `_type` says that it has files. */
  hasFiles: boolean;
  /** Of an object: the first unsafe name in its `files`. */
  unsafe: string | undefined;
}

/**
 * The first key of `files` in a custom-type value, however deep, that would lead out of the folder into which clients
 * unpack these files: an absolute path, or one with a `..` step. `val` is strict JSON text that repeats no key. It is not parsed:
 * its values may take more memory than there is.
 */
export function unsafeFilePath(val: JsonText): string | undefined {
  // No key reads "files" unless it is spelled so or with escapes.
  if (!val.includes("files") && !val.includes("\\u")) return undefined;
  const open: Open[] = [];
  let top: Open | undefined;
  let isName = false;
  for (let at = 0; at < val.length;) {
    switch (val.charCodeAt(at)) {
      case 34: {
        const end = stringEnd(val, at);
        if (isName) {
          if (top !== undefined) top.name = decodeString(val, at, end);
          const above = open.at(-1);
          if (above?.name === "files" && above.isObject && isUnsafe(top?.name ?? "")) above.unsafe ??= top?.name;
          isName = false;
          at = spaceEnd(val, end);
          continue;
        }
        if (top?.name === "_type" && top.isObject) top.hasFiles = decodeString(val, at, end) === "CustomWeaveType";
        at = end;
        continue;
      }
      case 123:
      case 91: {
        const isObject = val.charCodeAt(at) === 123;
        if (top !== undefined) open.push(top);
        top = { isObject, name: "", hasFiles: false, unsafe: undefined };
        isName = isObject;
        break;
      }
      case 125:
      case 93:
        if (top?.hasFiles === true && top.unsafe !== undefined) return top.unsafe;
        top = open.pop();
        isName = false;
        break;
      case 44:
        isName = top?.isObject === true;
        break;
    }
    at++;
  }
  return undefined;
}

function isUnsafe(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes("..");
}
