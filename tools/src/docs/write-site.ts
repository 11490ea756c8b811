import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Smaller files gain nothing. */
const minCompressedBytes = 1024;
const compress = { ".br": promisify(brotliCompress), ".gz": promisify(gzip) };

/**
 * Writes the site with `.br` and `.gz` next to each file, and removes what does not belong to it. Files that did not
 * change are left as they are.
 */
export async function writeSite(output: string, files: Files): Promise<void> {
  const written = new Set(writeFiles(output, files));
  const large = Object.entries(files).filter(([, text]) => Buffer.byteLength(text) >= minCompressedBytes);
  const kept = new Set(Object.keys(files));
  await Promise.all(
    large.map(async ([name, text]) => {
      kept.add(`${name}.br`).add(`${name}.gz`);
      const path = join(output, name);
      if (!written.has(name) && existsSync(`${path}.br`) && existsSync(`${path}.gz`)) return;
      const bytes = Buffer.from(text);
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: 9,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        [constants.BROTLI_PARAM_LGWIN]: windowBits(bytes.length),
      };
      await writeFile(`${path}.br`, await compress[".br"](bytes, { params }));
      await writeFile(`${path}.gz`, await compress[".gz"](bytes, { level: 9 }));
    }),
  );
  for (const name of readdirSync(output, { recursive: true, encoding: "utf8" })) {
    const path = join(output, name);
    if (!kept.has(name.replaceAll(sep, "/")) && statSync(path).isFile()) rmSync(path);
  }
}

/** A window that holds the whole file. The default one of 4 MB takes the encoder longer to clear than to fill. */
function windowBits(bytes: number): number {
  return Math.min(
    constants.BROTLI_MAX_WINDOW_BITS,
    Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(bytes))),
  );
}
