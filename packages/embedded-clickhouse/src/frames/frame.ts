/** What a connection is upgraded to. */
export const protocol = "heddle-statements";

/** A statement that reads, as it is sent. */
export interface SentStatement {
  sql: string;
  database: string;
  settings: Readonly<Record<string, string>>;
  /** The rows come in pieces, as the engine finds them; else all at once. */
  inPieces: boolean;
}

/** What a response frame begins with. `rows`: others follow; `last`: the rest of the rows; `error`: its text. */
export const kinds = { rows: 0, last: 1, error: 2 } as const;

const lengthBytes = 4;

/** The length of what follows, as 32 bits with the lowest byte first, and that. */
export function frame(...parts: ReadonlyArray<Uint8Array | number>): Buffer {
  const length = parts.reduce<number>((sum, part) => sum + (typeof part === "number" ? 1 : part.byteLength), 0);
  const bytes = Buffer.allocUnsafe(lengthBytes + length);
  let at = bytes.writeUInt32LE(length);
  for (const part of parts) {
    if (typeof part === "number") at = bytes.writeUInt8(part, at);
    else {
      bytes.set(part, at);
      at += part.byteLength;
    }
  }
  return bytes;
}

/** Puts frames together, wherever the network cuts them. */
export class FrameReader {
  readonly #onFrame: (content: Buffer) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = lengthBytes;

  constructor(onFrame: (content: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wanted) return;
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    for (;;) {
      this.#wanted = lengthBytes + (rest.length < lengthBytes ? 0 : rest.readUInt32LE());
      if (rest.length < this.#wanted || rest.length < lengthBytes) break;
      const content = rest.subarray(lengthBytes, this.#wanted);
      rest = rest.subarray(this.#wanted);
      this.#onFrame(content);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }
}
