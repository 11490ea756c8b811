/** What is read in one go. */
export const shortString = 65_536;

/** The escapes of a long string, read a part at a time. */
export class LongString {
  readonly #text: string;
  readonly #end: number;
  readonly #partLength: number;
  readonly #parts: string[] = [];
  #at: number;

  /** `start` and `end` are the indices of what is between the quotes, whose escapes were checked. */
  constructor(text: string, start: number, end: number, partLength = shortString) {
    this.#text = text;
    this.#at = start;
    this.#end = end;
    this.#partLength = partLength;
  }

  /** Reads the next part. Returns the string when that was the last one. */
  read(): string | undefined {
    const end = this.#endOfPart();
    this.#parts.push(JSON.parse(`"${this.#text.slice(this.#at, end)}"`) as string);
    this.#at = end;
    return end === this.#end ? this.#parts.join("") : undefined;
  }

  /** Not inside of an escape. */
  #endOfPart(): number {
    const end = this.#at + this.#partLength;
    if (end >= this.#end) return this.#end;
    const escape = this.#text.lastIndexOf("\\", end - 1);
    // The longest escape is "\u0000".
    if (escape < this.#at || escape + 6 <= end) return end;
    let first = escape;
    while (first > this.#at && this.#text[first - 1] === "\\") first--;
    // Of an even number, the last one belongs to the one before it.
    if ((escape - first) % 2 === 1) return Math.max(end, escape + 1);
    return Math.max(end, escape + (this.#text[escape + 1] === "u" ? 6 : 2));
  }
}
