import { promisify } from "node:util";
import { brotliCompress, brotliDecompressSync, constants } from "node:zlib";
import { LRUCache } from "lru-cache";
import { idOfField, idOfRow } from "../../stored-calls/kept-call.js";

/** Rows of so much are packed together, which takes a call's share of 4 µs on another thread; to unpack them takes 0.2 ms. */
export const blockBytes = 128 * 1024;

/** The rows of some calls, one after another. */
export interface RowBlock {
  readonly isPacked: boolean;
  /** What it takes of the memory. */
  readonly bytes: number;
  rows(): Buffer;
  /** The id of the row that begins there, or in a packed block of the row whose id does. */
  idAt(from: number): string;
}

export const plainBlock = (rows: Buffer): RowBlock => ({
  isPacked: false,
  bytes: rows.length,
  rows: () => rows,
  idAt: (from) => idOfRow(rows, from),
});

/** So many blocks are at hand: a page or a trace reads the same ones again and again. */
const unpackedBlocks = 16;
const unpacked = new LRUCache<RowBlock, Buffer>({ max: unpackedBlocks });

/** Ids stay as they are: calls of one time are in their order, and they may be many. */
class PackedBlock implements RowBlock {
  readonly isPacked = true;
  readonly #packed: Buffer;
  readonly #ids: Buffer;

  constructor(packed: Buffer, ids: Buffer) {
    this.#packed = packed;
    this.#ids = ids;
  }

  get bytes(): number {
    return this.#packed.length + this.#ids.length;
  }

  idAt(from: number): string {
    return idOfField(this.#ids, from);
  }

  rows(): Buffer {
    const known = unpacked.get(this);
    if (known !== undefined) return known;
    const rows = brotliDecompressSync(this.#packed);
    unpacked.set(this, rows);
    return rows;
  }
}

const compress = promisify(brotliCompress);

/**
 * The same rows in less memory, whose payloads are alike, with the fields of their ids one after another; undefined where that
 * saves nothing.
 */
export async function packedBlock(rows: Buffer, ids: Buffer): Promise<RowBlock | undefined> {
  if (rows.length > blockBytes) return undefined;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_LGWIN]: 17,
    [constants.BROTLI_PARAM_SIZE_HINT]: rows.length,
  };
  const packed = await compress(rows, { params, chunkSize: blockBytes / 2 });
  // A view of a larger piece of memory would hold that.
  return packed.length + ids.length < rows.length ? new PackedBlock(joined([packed]), ids) : undefined;
}

/** In memory of their own, none of which is shared as that of small buffers is. */
export function joined(parts: readonly Uint8Array[]): Buffer {
  const all = Buffer.allocUnsafeSlow(parts.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
