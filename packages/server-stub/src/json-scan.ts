/** The text is not JSON; `position` counts UTF-16 units from its start. */
export class Malformed extends Error {
  override readonly name = "Malformed";
  readonly position: number;

  constructor(what: string, position: number) {
    super(what);
    this.position = position;
  }
}

/** Index of the first character at or behind `i` that is not whitespace. */
export function skipSpace(text: string, i: number): number {
  for (;;) {
    const c = text.charCodeAt(i);
    if (c > 32 || (c !== 32 && c !== 10 && c !== 13 && c !== 9)) return i;
    i++;
  }
}

export interface Extent {
  /** Index behind the value. */
  end: number;
  /** Levels of arrays and objects inside each other; a scalar has none. */
  depth: number;
}

/** True when a text in UTF-8 has no control character. Looks at four bytes at a time: is one of them below 32? */
export function isPlain(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    const four = view.getInt32(at, true);
    if (((four - 0x20202020) & ~four & 0x80808080) !== 0) return false;
  }
  for (; at < bytes.length; at++) if (view.getUint8(at) < 32) return false;
  return true;
}

/**
 * Finds where values end, checking that they are JSON and making nothing.
 * It remembers what it learned about its text, so that a string costs two searches and no loop over its characters.
 */
export class Scanner {
  readonly text: string;
  private readonly plain: boolean;
  /** Index of a backslash with none between it and the place of the latest search. */
  private backslash = -1;
  /** Closing brackets of what is open in the measured value. */
  private open = new Uint8Array(64);

  /** `plain`: there is no control character in the text, as `isPlain` tells. */
  constructor(text: string, plain: boolean) {
    this.text = text;
    this.plain = plain;
  }

  /** Index behind the string that opens at `i`. */
  endOfString(i: number): number {
    if (!this.plain) return walkString(this.text, i, i + 1);
    const close = this.text.indexOf('"', i + 1);
    if (this.backslash <= i) this.backslash = found(this.text.indexOf("\\", i + 1));
    return close >= 0 && close < this.backslash
      ? close + 1
      : walkString(this.text, i, Math.min(this.backslash, found(close)));
  }

  /** Extent of the value at `start`. Any depth is measured without recursion. */
  measure(start: number): Extent {
    const { text } = this;
    let { open } = this;
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
          if (level === open.length) open = this.open = grow(open);
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

  /** Index of the value behind the key that starts at `i`. */
  endOfKey(i: number): number {
    const { text } = this;
    if (text.charCodeAt(i) !== 34) throw new Malformed("no key where one should be", i);
    i = skipSpace(text, this.endOfString(i));
    if (text.charCodeAt(i) !== 58) throw new Malformed("a key without a colon", i);
    return skipSpace(text, i + 1);
  }
}

function found(index: number): number {
  return index < 0 ? Infinity : index;
}

/** Index behind the string that opens at `open`, whose first characters up to `i` are known to be plain. */
function walkString(text: string, open: number, i: number): number {
  const length = text.length;
  for (; i < length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) return i + 1;
    if (c === 92) i = endOfEscape(text, i);
    else if (c < 32) throw new Malformed("a control character in a string", i);
  }
  throw new Malformed("a string that does not end", open);
}

/** Index of the last character of the escape that starts at `i`. */
function endOfEscape(text: string, i: number): number {
  const kind = text[i + 1];
  if (kind === "u") {
    if (!/^[0-9a-fA-F]{4}$/.test(text.slice(i + 2, i + 6))) throw new Malformed("a broken \\u escape", i);
    return i + 5;
  }
  if (kind === undefined || !'"\\/bfnrt'.includes(kind)) throw new Malformed("an unknown escape in a string", i);
  return i + 1;
}

/** Index behind the number or word that starts at `i`. `NaN`, `Infinity` and `-Infinity` count as numbers. */
export function endOfScalar(text: string, i: number): number {
  switch (text.charCodeAt(i)) {
    case 116:
      return endOfWord(text, i, "true");
    case 102:
      return endOfWord(text, i, "false");
    case 110:
      return endOfWord(text, i, "null");
    case 78:
      return endOfWord(text, i, "NaN");
    case 73:
      return endOfWord(text, i, "Infinity");
    default:
      return endOfNumber(text, i);
  }
}

function endOfWord(text: string, i: number, word: string): number {
  if (!text.startsWith(word, i)) throw new Malformed("an unknown word", i);
  return i + word.length;
}

function endOfNumber(text: string, start: number): number {
  let i = start;
  if (text.charCodeAt(i) === 45) {
    i++;
    if (text.charCodeAt(i) === 73) return endOfWord(text, i, "Infinity");
  }
  const first = i;
  i = endOfDigits(text, i);
  if (i === first)
    throw new Malformed(start < text.length ? "no JSON value" : "the end where a value should be", start);
  if (text.charCodeAt(first) === 48 && i > first + 1) throw new Malformed("a number with a leading zero", start);
  if (text.charCodeAt(i) === 46) {
    const fraction = ++i;
    i = endOfDigits(text, i);
    if (i === fraction) throw new Malformed("a number without digits behind its point", start);
  }
  if ((text.charCodeAt(i) | 32) === 101) {
    i++;
    const sign = text.charCodeAt(i);
    if (sign === 43 || sign === 45) i++;
    const exponent = i;
    i = endOfDigits(text, i);
    if (i === exponent) throw new Malformed("a number without digits in its exponent", start);
  }
  return i;
}

function endOfDigits(text: string, i: number): number {
  for (;;) {
    const c = text.charCodeAt(i);
    if (!(c >= 48 && c <= 57)) return i;
    i++;
  }
}

function grow(stack: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(stack.length * 4);
  larger.set(stack);
  return larger;
}
