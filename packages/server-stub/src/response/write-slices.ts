import type { Sink, StreamBody } from "../http.js";
import { JsonPieces } from "../json/pieces.js";

/** Most UTF-16 units or bytes in one write. A client that reads slowly shows that it reads with every slice. */
const sliceLength = 65_536;
/** A client that reads as fast as it is written to keeps the event loop from everybody else for so many slices. */
const slicesAtOnce = 16;

/** Writes text or bytes slice by slice, at the speed of the reader. */
export async function writeSlices(sink: Sink, piece: string | Uint8Array): Promise<void> {
  if (piece.length <= sliceLength) {
    await sink.write(piece);
    return;
  }
  let slices = 0;
  for (let from = 0; from < piece.length && !sink.closed;) {
    const to = typeof piece === "string" ? sliceEnd(piece, from) : from + sliceLength;
    await sink.write(typeof piece === "string" ? piece.slice(from, to) : piece.subarray(from, to));
    from = to;
    if (++slices % slicesAtOnce === 0) await yieldToEventLoop();
  }
}

/** A piece of a body, or what makes pieces while it is written. */
export type BodyPiece = string | Uint8Array | JsonPieces;

/** A body of pieces; each is dropped once it is written. */
export function piecesBody(pieces: readonly BodyPiece[]): StreamBody {
  const left = pieces.toReversed();
  return async (sink) => {
    for (let piece = left.pop(); piece !== undefined && !sink.closed; piece = left.pop()) {
      if (piece instanceof JsonPieces) await writeWhileMade(sink, piece);
      else await writeSlices(sink, piece);
    }
    left.length = 0;
  };
}

/** Writes text slice by slice as it is made, and gives way before each slice: making one takes as long as some writes. */
async function writeWhileMade(sink: Sink, { pieces }: JsonPieces): Promise<void> {
  let text = "";
  await sink.giveWay?.();
  for (const piece of pieces()) {
    text += piece;
    if (text.length < sliceLength) continue;
    await writeSlices(sink, text);
    text = "";
    if (sink.giveWay === undefined) await yieldToEventLoop();
    if (sink.closed) return;
  }
  if (text !== "") await writeSlices(sink, text);
}

/** Resolves after one iteration of the event loop. */
export function yieldToEventLoop(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 0, undefined));
}

/** Both halves of a surrogate pair are encoded together. */
function sliceEnd(text: string, from: number): number {
  const to = from + sliceLength;
  const last = text.charCodeAt(to - 1);
  return last >= 0xd800 && last < 0xdc00 ? to + 1 : to;
}
