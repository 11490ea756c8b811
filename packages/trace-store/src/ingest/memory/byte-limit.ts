/**
 * Counts about the bytes that the entries of a memory take, up to a limit. From the first entry on for which there is no space, the
 * memory is partial: what is not in it may be stored all the same.
 */
export class ByteLimit {
  #bytes = 0;
  #isPartial = false;
  readonly limit: number;
  readonly #entryBytes: number;

  /** `entryBytes`: about the memory of an entry without its text. */
  constructor(limit: number, entryBytes: number) {
    this.limit = limit;
    this.#entryBytes = entryBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** Counts an entry that is about to be added; false where there is no space for it. */
  add(text: string): boolean {
    const bytes = this.#entryBytes + text.length;
    if (this.#bytes + bytes > this.limit) {
      this.#isPartial = true;
      return false;
    }
    this.#bytes += bytes;
    return true;
  }

  remove(text: string): void {
    this.#bytes -= this.#entryBytes + text.length;
  }
}
