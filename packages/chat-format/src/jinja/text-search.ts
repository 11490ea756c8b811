/** `indexOf` of the engine is fast for parts up to this length; for longer ones its time can be their product. */
const longestNative = 32;
/** How much longer a search takes for a character than copying it. */
export const searchWeight = 8;

/**
 * Finds a text in others in linear time. `String.indexOf`, `includes`, `split` and `replaceAll` need, for some long
 * parts, the product of both lengths.
 */
export class TextSearch {
  readonly #part: string;
  /** For each prefix of the part, the length of its longest proper suffix that is a prefix, too. */
  readonly #borders: Int32Array | undefined;

  constructor(part: string) {
    this.#part = part;
    this.#borders = part.length > longestNative ? borders(part) : undefined;
  }

  /** Returns the first position at or after `from`, or -1. */
  next(text: string, from = 0): number {
    const part = this.#part;
    const table = this.#borders;
    if (table === undefined) return text.indexOf(part, from);
    let matched = 0;
    for (let at = Math.max(0, from); at < text.length; at++) {
      const unit = text.charCodeAt(at);
      while (matched > 0 && part.charCodeAt(matched) !== unit) matched = table[matched - 1] ?? 0;
      if (part.charCodeAt(matched) === unit) matched++;
      if (matched === part.length) return at + 1 - matched;
    }
    return -1;
  }

  /** Returns the last position, or -1. */
  last(text: string): number {
    if (this.#borders === undefined) return text.lastIndexOf(this.#part);
    const found = new TextSearch(reverse(this.#part)).next(reverse(text));
    return found < 0 ? -1 : text.length - found - this.#part.length;
  }
}

function borders(part: string): Int32Array {
  const table = new Int32Array(part.length);
  let matched = 0;
  for (let at = 1; at < part.length; at++) {
    while (matched > 0 && part.charCodeAt(at) !== part.charCodeAt(matched)) matched = table[matched - 1] ?? 0;
    if (part.charCodeAt(at) === part.charCodeAt(matched)) matched++;
    table[at] = matched;
  }
  return table;
}

/** Reverses UTF-16 units. */
function reverse(text: string): string {
  return Buffer.from(Buffer.from(text, "utf16le").swap16().toReversed()).toString("utf16le");
}
