/**
 * One JSON value whose text is made while it is written, at the speed of the reader: it takes no memory before, and
 * making it gives way to other work. For values of a response that are large as text and small in memory.
 */
export class JsonPieces {
  /** About how many UTF-16 units the text has: counts towards the limit of a response. */
  readonly length: number;
  /** Makes the text, in pieces of some thousand units. */
  readonly pieces: () => Iterable<string>;

  constructor(length: number, pieces: () => Iterable<string>) {
    this.length = length;
    this.pieces = pieces;
  }

  /** The parsed value, made at each access. */
  toJSON(): unknown {
    return JSON.parse([...this.pieces()].join(""));
  }
}

/** The value with what is made while it is written, for checks. */
export function withoutPieces(value: unknown): unknown {
  if (value instanceof JsonPieces) return value.toJSON();
  if (Array.isArray(value)) return value.map(withoutPieces);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutPieces(each)]));
}
