import { endOfScalar, Malformed, skipSpace, walkString } from "./tokens.js";

export interface Extent {
  /** Index after the value. */
  end: number;
  /** Levels of arrays and objects inside each other; a scalar has none. */
  depth: number;
}

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

/**
 * Finds where values end, checking that they are JSON and making nothing.
 * It remembers what it learned about its text, so that a string costs two searches and no loop over its characters.
 */
export class Scanner {
  readonly text: string;
  readonly #noControls: boolean;
  /** Index of a backslash with none between it and the start of the latest search. */
  #backslash = -1;
  /** Closing brackets of what is open in the measured value. */
  #open = open;

  /** `noControls`: the result of `hasNoControlCharacters` for the text. */
  constructor(text: string, noControls: boolean) {
    this.text = text;
    this.#noControls = noControls;
  }

  /** Index after the string that opens at `i`. */
  endOfString(i: number): number {
    if (!this.#noControls) return walkString(this.text, i, i + 1);
    const close = this.text.indexOf('"', i + 1);
    if (this.#backslash <= i) this.#backslash = found(this.text.indexOf("\\", i + 1));
    return close >= 0 && close < this.#backslash
      ? close + 1
      : walkString(this.text, i, Math.min(this.#backslash, found(close)));
  }

  /** Extent of the value at `start`. Any depth is measured without recursion. */
  measure(start: number): Extent {
    const { text } = this;
    let open = this.#open;
    let level = 0;
    let deepest = 0;
    let i = start;
    value: for (;;) {
      const c = text.charCodeAt(i);
      if (c === 34) {
        i = this.endOfString(i);
      } else if (c === 123 || c === 91) {
        const close = c + 2;
        i = skipSpace(text, i + 1);
        if (level + 1 > deepest) deepest = level + 1;
        if (text.charCodeAt(i) === close) {
          i++;
        } else {
          if (level === open.length) open = this.#open = grow(open);
          open[level++] = close;
          if (close === 125) i = this.endOfKey(i);
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
          if (close === 125) i = this.endOfKey(i);
          continue value;
        }
        if (next !== close) throw new Malformed(`neither a comma nor "${close === 125 ? "}" : "]"}"`, i);
        i++;
        level--;
      }
      return { end: i, depth: deepest };
    }
  }

  /** Index of the value after the key that starts at `i`. */
  endOfKey(i: number): number {
    const { text } = this;
    if (text.charCodeAt(i) !== 34) throw new Malformed("no key where one should be", i);
    i = skipSpace(text, this.endOfString(i));
    if (text.charCodeAt(i) !== 58) throw new Malformed("a key without a colon", i);
    return skipSpace(text, i + 1);
  }
}

/** Enough for nearly every value. One for all: a text is measured in one go. */
const open = new Uint8Array(64);

function found(index: number): number {
  return index < 0 ? Infinity : index;
}

function grow(stack: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 4);
  larger.set(stack);
  return larger;
}
