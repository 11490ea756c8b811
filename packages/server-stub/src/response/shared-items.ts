import type { BodyPiece } from "./write-slices.js";

/** What one item of a stream is written as. */
type Encode = (item: unknown) => string | Uint8Array | readonly BodyPiece[];

/**
 * Items that several streams of one operation send at the same time. They are checked and encoded for the first of them, and all
 * send the same bytes.
 */
export class SharedItems<Item> {
  readonly #items: readonly Item[];
  readonly #encoded = new Map<string, readonly BodyPiece[]>();

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /** As streams of a form write them. */
  encoded(form: string, encode: Encode): readonly BodyPiece[] {
    const known = this.#encoded.get(form);
    if (known !== undefined) return known;
    const pieces = joined(this.#items.flatMap((item) => encode(item)));
    this.#encoded.set(form, pieces);
    return pieces;
  }
}

/** An item of a stream that may be one of server-sent events: also bytes that are no data of it, and what several streams share. */
export type StreamedEvent<Item> = Item | Uint8Array | SharedItems<Item | Uint8Array>;

/** The same pieces, where what follows each other as text and bytes is one piece. */
function joined(pieces: readonly BodyPiece[]): BodyPiece[] {
  const encoder = new TextEncoder();
  const found: BodyPiece[] = [];
  let bytes: Uint8Array[] = [];
  const flush = () => {
    if (bytes.length > 0) found.push(concat(bytes));
    bytes = [];
  };
  for (const piece of pieces) {
    if (typeof piece === "string") bytes.push(encoder.encode(piece));
    else if (piece instanceof Uint8Array) bytes.push(piece);
    else {
      flush();
      found.push(piece);
    }
  }
  flush();
  return found;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
