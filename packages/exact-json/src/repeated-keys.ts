import { decodeString } from "./members.js";
import { stringEnd } from "./scan.js";
import type { JsonText } from "./scan.js";

/**
 * The text without the members whose key comes again in the same object: of repeated keys the last counts for whoever
 * reads JSON, but the first for the store's functions. One pass, since this is asked of every document.
 */
export function withoutRepeatedKeys(text: JsonText): JsonText {
  const repeated = repeatedMembers(text);
  if (repeated.length === 0) return text;
  let result = "";
  let copied = 0;
  for (const [from, to] of repeated.toSorted(([a], [b]) => a - b)) {
    // One inside another that was left out is gone already.
    if (from < copied) continue;
    result += text.slice(copied, from);
    copied = to;
  }
  return result + text.slice(copied);
}

/** The first key that comes again in the same object; undefined when there is none. */
export function firstRepeatedKey(text: JsonText): string | undefined {
  const [first] = repeatedMembers(text);
  return first && decodeString(text, first[0], stringEnd(text, first[0]));
}

/** Objects with more keys are looked up in a map. */
const fewKeys = 8;

/** The members of the object that the scanner is in. */
class Members {
  /** Keys as they are written, or decoded where they hold an escape, with where they begin. */
  readonly keys: string[] = [];
  readonly starts: number[] = [];
  #positions: Map<string, number> | undefined;

  /** Returns the position of an earlier member with the key. */
  add(key: string, start: number): number | undefined {
    const position = this.#positions === undefined ? this.keys.lastIndexOf(key) : (this.#positions.get(key) ?? -1);
    this.keys.push(key);
    this.starts.push(start);
    if (this.#positions !== undefined) this.#positions.set(key, this.keys.length - 1);
    else if (this.keys.length > fewKeys) this.#positions = new Map(this.keys.map((name, at) => [name, at]));
    return position < 0 ? undefined : position;
  }
}

/** Where the members begin and end, with the comma behind them, whose key comes again. */
function repeatedMembers(text: string): Array<[from: number, to: number]> {
  const found: Array<[number, number]> = [];
  /** Undefined for lists. */
  const stack: Array<Members | undefined> = [];
  let members: Members | undefined;
  let isKey = false;
  const { length } = text;
  for (let index = 0; index < length;) {
    switch (text.charCodeAt(index)) {
      case 34: {
        const end = stringEnd(text, index);
        if (isKey && members !== undefined) {
          const earlier = members.add(decodeString(text, index, end), index);
          if (earlier !== undefined) found.push([members.starts[earlier] ?? 0, members.starts[earlier + 1] ?? 0]);
          isKey = false;
        }
        index = end;
        continue;
      }
      case 123:
        stack.push(members);
        members = new Members();
        isKey = true;
        break;
      case 91:
        stack.push(members);
        members = undefined;
        break;
      case 125:
      case 93:
        members = stack.pop();
        isKey = false;
        break;
      case 44:
        isKey = members !== undefined;
        break;
    }
    index++;
  }
  return found;
}
