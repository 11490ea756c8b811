import { promisify } from "node:util";
import { brotliCompress, brotliDecompressSync, constants } from "node:zlib";
import { LRUCache } from "lru-cache";

/** Rows of so much are packed together, which takes a call's share of 4 µs on another thread; to unpack them takes 0.2 ms. */
export const blockBytes = 128 * 1024;

/** The rows of some calls, one after another. */
export interface RowBlock {
  /** What it takes of the memory. */
  readonly bytes: number;
  rows(): Buffer;
}

export const plainBlock = (rows: Buffer): RowBlock => ({ bytes: rows.length, rows: () => rows });

/** The blocks of a page or a trace are read again and again. */
const unpacked = new LRUCache<RowBlock, Buffer>({ max: 16 });

class PackedBlock implements RowBlock {
  readonly #packed: Buffer;

  constructor(packed: Buffer) {
    this.#packed = packed;
  }

  get bytes(): number {
    return this.#packed.length;
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

/** The same, in less memory where it can be: payloads of neighbours are alike. */
export async function packedBlock(rows: Buffer): Promise<RowBlock> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_LGWIN]: 17,
    [constants.BROTLI_PARAM_SIZE_HINT]: rows.length,
  };
  const packed = await compress(rows, { params, chunkSize: blockBytes / 2 });
  // A view of a larger piece of memory would hold that.
  return packed.length < rows.length ? new PackedBlock(copyOf(packed)) : plainBlock(rows);
}

function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
