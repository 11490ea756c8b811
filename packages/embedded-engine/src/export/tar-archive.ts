import type { WrittenParts } from "./written-parts.js";

interface ArchivedFile {
  /** At most 100 bytes. */
  name: string;
  bytes: number;
  parts(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const block = 512;
/** Larger sizes have no place in the octal form of the field. */
const mostOctal = 8 ** 11;

/** A tar archive in the form of POSIX (ustar), uncompressed. Files of 8 GiB or more have their size in GNU's binary form. */
export function tarArchive(files: readonly ArchivedFile[]): WrittenParts {
  const bytes = files.reduce((sum, file) => sum + block + padded(file.bytes), 2 * block);
  return {
    bytes,
    async *parts() {
      for (const file of files) {
        yield headerOf(file);
        yield* file.parts();
        yield new Uint8Array(padded(file.bytes) - file.bytes);
      }
      yield new Uint8Array(2 * block);
    },
  };
}

const padded = (bytes: number): number => Math.ceil(bytes / block) * block;

function headerOf({ name, bytes }: ArchivedFile): Uint8Array {
  const header = Buffer.alloc(block);
  header.write(name, 0, 100);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  if (bytes < mostOctal) {
    header.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124);
  } else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  // The same bytes for the same weights, whenever they are exported.
  header.write("00000000000\0", 136);
  header.fill(" ", 148, 156);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
