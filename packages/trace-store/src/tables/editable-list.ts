/** Chunks are split when they reach twice this. */
const chunkItems = 1024;

/**
 * A list for many edits at any position. One array would move half of its items at each: a hundred thousand edits of a
 * million items take minutes.
 */
export class EditableList<Item> {
  readonly #chunks: Item[][] = [];
  #length: number;

  constructor(items: readonly Item[]) {
    for (let from = 0; from < items.length; from += chunkItems) this.#chunks.push(items.slice(from, from + chunkItems));
    if (this.#chunks.length === 0) this.#chunks.push([]);
    this.#length = items.length;
  }

  get length(): number {
    return this.#length;
  }

  /** The index is at most the length. */
  insert(index: number, item: Item): void {
    const { chunk, at, position } = this.#find(index);
    chunk.splice(position, 0, item);
    if (chunk.length >= 2 * chunkItems) this.#chunks.splice(at + 1, 0, chunk.splice(chunkItems));
    this.#length++;
  }

  /** The index is less than the length. */
  remove(index: number): Item | undefined {
    // The end of a chunk is the beginning of the next one.
    const { chunk, at, position } = this.#find(index + 1);
    const [item] = chunk.splice(position - 1, 1);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(at, 1);
    this.#length--;
    return item;
  }

  toArray(): Item[] {
    return this.#chunks.flat();
  }

  /** The first chunk that has the position, be it behind its last item. */
  #find(index: number): { chunk: Item[]; at: number; position: number } {
    let position = index;
    for (const [at, chunk] of this.#chunks.entries()) {
      if (position <= chunk.length) return { chunk, at, position };
      position -= chunk.length;
    }
    throw new RangeError(`${index} is behind the end of the list`);
  }
}
