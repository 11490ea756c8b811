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
  const kind = bytes.toString("latin1", 8, 16);
  // With a profile of colours, as browsers write it, the size less one is in the head.
  if (kind === "WEBPVP8X") return { bytes, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  // Without one it is in the first frame, which begins with a tag of three bytes and a start code.
  if (kind === "WEBPVP8 " && bytes.readUIntBE(23, 3) === 0x9d012a)
    return { bytes, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  throw new Error(`${file} is no lossy WebP`);
}
