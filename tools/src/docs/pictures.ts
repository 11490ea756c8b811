import { readFileSync } from "node:fs";

/** What a browser photographed, as WebP. */
export interface Picture {
  bytes: Uint8Array;
  /** In pixels. */
  width: number;
  height: number;
}

/** Reads a picture and its size, for which a page keeps room until it is loaded. */
export function readPicture(file: string): Picture {
  const bytes = readFileSync(file);
  const kind = bytes.toString("latin1", 12, 16);
  // Browsers write the lossy kind: a key frame that begins with a tag of three bytes and the three of the start code.
  if (bytes.toString("latin1", 8, 12) !== "WEBP" || kind !== "VP8 " || bytes.readUIntBE(23, 3) !== 0x9d012a)
    throw new Error(`${file} is no lossy WebP`);
  return { bytes, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}
