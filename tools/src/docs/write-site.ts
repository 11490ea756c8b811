import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { minCompressedBytes, writeCompressed } from "../compressed-files.js";
import { writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/**
 * Writes the site with `.br` and `.gz` next to each file, and removes what does not belong to it. Files that did not
 * change are left as they are. `pictures` are compressed as they are.
 */
export async function writeSite(
  output: string,
  files: Files,
  pictures: Readonly<Record<string, Uint8Array>> = {},
): Promise<void> {
  const written = new Set(writeFiles(output, files));
  const large = Object.entries(files).filter(([, text]) => Buffer.byteLength(text) >= minCompressedBytes);
  const kept = new Set([...Object.keys(files), ...Object.keys(pictures)]);
  for (const [name, bytes] of Object.entries(pictures)) {
    const path = join(output, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
  }
  await Promise.all(
    large.map(async ([name, text]) => {
      kept.add(`${name}.br`).add(`${name}.gz`);
      const path = join(output, name);
      if (!written.has(name) && existsSync(`${path}.br`) && existsSync(`${path}.gz`)) return;
      await writeCompressed(path, Buffer.from(text));
    }),
  );
  for (const name of readdirSync(output, { recursive: true, encoding: "utf8" })) {
    const path = join(output, name);
    if (!kept.has(name.replaceAll(sep, "/")) && statSync(path).isFile()) rmSync(path);
  }
}
