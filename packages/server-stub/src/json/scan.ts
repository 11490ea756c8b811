import { endOfScalar, Malformed, skipSpace, walkString } from "./tokens.js";

/** True when a text in UTF-8 has no control character. Looks at sixteen bytes at a time. */
export function hasNoControlCharacters(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (; at + 16 <= bytes.length; at += 16) {
    const control =
      controlBits(view.getInt32(at, true)) |
      controlBits(view.getInt32(at + 4, true)) |
      controlBits(view.getInt32(at + 8, true)) |
      controlBits(view.getInt32(at + 12, true));
    if (control !== 0) return false;
  }
  for (; at < bytes.length; at++) if (view.getUint8(at) < 32) return false;
  return true;
}

/** Not 0 when one of the four bytes is below 32. */
function controlBits(four: number): number {
  return (four - 0x20202020) & ~four & 0x80808080;
}

/** No end was found before the position up to which was looked. */
export const pending = -1;

/**
 * Finds where values end, checking that they are JSON and making nothing. What is long is looked through in parts: up to
 * `until`, which only grows.
 * It remembers what it learned about its text, so that a string costs two searches and no loop over its characters.
 */
export class Scanner {
  readonly text: string;
  until = Infinity;
  /** Levels of arrays and objects inside each other that the measured value has; a scalar has none. */
  depth = 0;
  readonly #noControls: boolean;
  /** Index of a backslash with none between it and the start of the latest search. */
  #backslash = -1;
  /** Where a string opens that is looked through in parts, and how far that has come. */
  #walked = { open: pending, to: 0 };
  /** Where the value, or the key, begins that is measured next. */
  #at = 0;
  #isKey = false;
  #level = 0;
  /** Closing brackets of what is open in the measured value. */
  #open = shared;

  /** `noControls`: the result of `hasNoControlCharacters` for the text. */
  constructor(text: string, noControls: boolean) {
    this.text = text;
    this.#noControls = noControls;
  }

  /** How far the text is known. */
  get reached(): number {
    return this.#walked.open === pending ? this.#at : Math.max(this.#at, this.#walked.to);
  }

  /** Index after the string that opens at `i`, or `pending`: the next call, for the same string, goes on. */
  endOfString(i: number): number {
    const walked = this.#walked;
    let from = i + 1;
    if (walked.open === i) from = walked.to;
    else if (this.#noControls) {
      const close = this.text.indexOf('"', i + 1);
      if (this.#backslash <= i) this.#backslash = found(this.text.indexOf("\\", i + 1));
      if (close >= 0 && close < this.#backslash) return close + 1;
      from = Math.min(this.#backslash, found(close));
    }
    const end = walkString(this.text, i, from, this.until);
    if (end < this.until) {
      walked.open = pending;
      return end + 1;
    }
    walked.open = i;
    walked.to = end;
    return pending;
  }

  /** Begins to measure the value at `start`. */
  begin(start: number): void {
    this.#at = start;
    this.#isKey = false;
    this.#level = 0;
    this.depth = 0;
  }

  /** Index after the value that was begun, of any depth, or `pending`: the next call goes on. */
  measure(): number {
    const { text, until } = this;
    let open = this.#open;
    let level = this.#level;
    let i = this.#at;
    let isKey = this.#isKey;
    value: for (;;) {
      if (isKey) {
        const value = this.#afterKey(i);
        if (value === pending) break;
        i = value;
        isKey = false;
      }
      if (i >= until) break;
      const c = text.charCodeAt(i);
      if (c === 34) {
        const end = this.endOfString(i);
        if (end === pending) break;
        i = end;
      } else if (c === 123 || c === 91) {
        const close = c + 2;
        i = skipSpace(text, i + 1);
        if (level + 1 > this.depth) this.depth = level + 1;
        if (text.charCodeAt(i) === close) {
          i++;
        } else {
          if (level === open.length) open = this.#open = grow(open);
          open[level++] = close;
          isKey = close === 125;
          continue;
        }
      } else {
        i = endOfScalar(text, i);
      }
      while (level > 0) {
        i = skipSpace(text, i);
        const next = text.charCodeAt(i);
        const close = open[level - 1];
        if (next === 44) {
          i = skipSpace(text, i + 1);
          isKey = close === 125;
          continue value;
        }
        if (next !== close) throw new Malformed(`neither a comma nor "${close === 125 ? "}" : "]"}"`, i);
        i++;
        level--;
      }
      return i;
    }
    this.#at = i;
    this.#isKey = isKey;
    this.#level = level;
    if (open === shared) this.#open = shared.slice();
    return pending;
  }

  /** Index of the value after the key that begins at `i`. */
  #afterKey(i: number): number {
    const { text } = this;
    if (text.charCodeAt(i) !== 34) throw new Malformed("no key where one should be", i);
    const end = this.endOfString(i);
    if (end === pending) return pending;
    i = skipSpace(text, end);
    if (text.charCodeAt(i) !== 58) throw new Malformed("a key without a colon", i);
    return skipSpace(text, i + 1);
  }
}

/** Enough for nearly every value. One for all that are measured in one go. */
const shared = new Uint8Array(64);

function found(index: number): number {
  return index < 0 ? Infinity : index;
}

function grow(stack: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 4);
  larger.set(stack);
  return larger;
}
