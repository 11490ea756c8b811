/** The text is not JSON; `position` counts UTF-16 units from its start. */
export class Malformed extends Error {
  override readonly name = "Malformed";
  readonly position: number;

  constructor(what: string, position: number) {
    super(what);
    this.position = position;
  }
}

/** Index of the first character from `i` on that is not whitespace. */
export function skipSpace(text: string, i: number): number {
  for (const end = i + shortSpace; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c > 32 || (c !== 32 && c !== 10 && c !== 13 && c !== 9)) return i;
  }
  notSpace.lastIndex = i;
  return notSpace.exec(text)?.index ?? text.length;
}

/** Longer whitespace is looked through by the engine, which is five times as fast. */
const shortSpace = 1024;
const notSpace = /[^ \n\r\t]/g;

/**
 * Index of the quote that ends the string which opens at `open`, or of where to go on, not before `limit`. The characters
 * before `i` are known to be ordinary: no quote, backslash or control character.
 */
export function walkString(text: string, open: number, i: number, limit: number): number {
  const end = Math.min(limit, text.length);
  for (; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) return i;
    if (c === 92) i = endOfEscape(text, i);
    else if (c < 32) throw new Malformed("a control character in a string", i);
  }
  if (i >= text.length) throw new Malformed("a string that does not end", open);
  return i;
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

/** Index after the number or word that starts at `i`. `NaN`, `Infinity` and `-Infinity` count as numbers. */
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
    if (i === fraction) throw new Malformed("a number without digits after its point", start);
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
