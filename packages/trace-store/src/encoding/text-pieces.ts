import { mainThread } from "@heddle/concurrency";

/**
 * A request for a thread whose long texts are in pieces, of which the thread gets the memory: to copy a text of 33 MB at once
 * takes as long as the event loop may be kept.
 */
export interface Pieced<Request> {
  request: unknown;
  /** Never there: what it was made of. */
  of?: Request;
}

class TextPieces {
  readonly textPieces: TextPiece[] = [];
}

interface TextPiece {
  encoding: "latin1" | "utf16le";
  bytes: Uint8Array;
}

/** Units of UTF-16 that are copied in less than a millisecond. */
const pieceLength = 256 * 1024;
const piecesAtOnce = 4;

/** Copies the long texts of a request in slices. Adds the memory of their pieces to `transfer`. */
export async function inPieces<Request>(request: Request, transfer: ArrayBuffer[]): Promise<Pieced<Request>> {
  return { request: await pieced(request, transfer) };
}

async function pieced(value: unknown, transfer: ArrayBuffer[]): Promise<unknown> {
  if (typeof value === "string") return value.length <= pieceLength ? value : await piecesOf(value, transfer);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) members[name] = await pieced(member, transfer);
  return members;
}

async function piecesOf(text: string, transfer: ArrayBuffer[]): Promise<TextPieces> {
  const pieces = new TextPieces();
  for (let at = 0; at < text.length; at += pieceLength) {
    const part = text.slice(at, at + pieceLength);
    const encoding = isLatin1.test(part) ? "latin1" : "utf16le";
    const bytes = new Uint8Array(Buffer.from(part, encoding));
    transfer.push(bytes.buffer);
    pieces.textPieces.push({ encoding, bytes });
    if (pieces.textPieces.length % piecesAtOnce === 0) await mainThread.giveWay();
  }
  return pieces;
}

// oxlint-disable-next-line no-control-regex -- all that one byte holds
const isLatin1 = /^[\u0000-\u00ff]*$/;

/** The request in the thread. */
export function fromPieces<Request>({ request }: Pieced<Request>): Request {
  return whole(request) as Request;
}

function whole(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if ("textPieces" in value) return (value as TextPieces).textPieces.map(textOf).join("");
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, whole(member)]));
}

const textOf = ({ encoding, bytes }: TextPiece): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding);
