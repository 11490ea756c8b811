import { mainThread } from "@heddle/concurrency";
import { writeJson, writeSlices } from "@heddle/server-stub";
import type { StreamBody } from "@heddle/server-stub";

/** UTF-16 units from which a string is a piece of its own, which is escaped while it is written. */
const longLength = 65_536;

/** A string as it is, which takes its memory once however often it is in the response. */
interface LongString {
  long: string;
}

/** UTF-16 units of what was appended, and of its memory that nothing else holds. */
export interface Appended {
  length: number;
  copied: number;
}

/** JSON text that is put together piece by piece and written slice by slice. */
export class JsonPieces {
  #text = "";
  readonly #pieces: (string | LongString)[] = [];

  /** Appends text that is part of the JSON. */
  raw(text: string): Appended {
    this.#text += text;
    if (this.#text.length >= longLength) this.#endPiece();
    return { length: text.length, copied: text.length };
  }

  /** Appends a value without members. */
  scalar(value: unknown): Appended {
    if (typeof value !== "string" || value.length < longLength) return this.raw(writeJson(value));
    this.raw('"');
    this.#endPiece();
    this.#pieces.push({ long: value });
    this.raw('"');
    return { length: value.length, copied: 0 };
  }

  /** The text, or what writes it. */
  body(): string | StreamBody {
    if (this.#pieces.length === 0) return this.#text;
    this.#endPiece();
    const left = this.#pieces.toReversed();
    return async (sink) => {
      for (let piece = left.pop(); piece !== undefined && !sink.closed; piece = left.pop()) {
        if (typeof piece === "string") await writeSlices(sink, piece);
        else {
          // Both halves of a surrogate pair mean the same when they are escaped apart.
          for (let from = 0; from < piece.long.length && !sink.closed; from += longLength) {
            await sink.write(JSON.stringify(piece.long.slice(from, from + longLength)).slice(1, -1));
            await mainThread.giveWay();
          }
        }
      }
      left.length = 0;
    };
  }

  #endPiece(): void {
    if (this.#text !== "") this.#pieces.push(this.#text);
    this.#text = "";
  }
}
