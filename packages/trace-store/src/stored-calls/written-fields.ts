/**
 * Fields as `RowWriter` wrote them, of their own or as a part of a whole row. A buffer is made when it is asked for: of most
 * rows no part ever is.
 */
export class WrittenFields {
  readonly #row: Buffer;
  readonly #from: number;
  readonly #to: number;

  constructor(row: Buffer, from = 0, to = row.length) {
    this.#row = row;
    this.#from = from;
    this.#to = to;
  }

  get length(): number {
    return this.#to - this.#from;
  }

  /** Where they are in their row. */
  get span(): { from: number; to: number } {
    return { from: this.#from, to: this.#to };
  }

  get bytes(): Buffer {
    return this.#row.subarray(this.#from, this.#to);
  }

  /** The same on their own: a part would keep the memory of the whole request. */
  copy(): WrittenFields {
    const own = Buffer.allocUnsafeSlow(this.length);
    this.#row.copy(own, 0, this.#from, this.#to);
    return new WrittenFields(own);
  }
}
