import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { minCompressedBytes, writeCompressed } from "@heddle/tools/compressed-files";
import { consoleDirectory } from "../src/index.js";

/** Where to; as it is published, where none is given. */
const [output = consoleDirectory] = process.argv.slice(2);
await build({
  configFile: join(import.meta.dirname, "../vite.config.ts"),
  logLevel: "warn",
  build: { outDir: output },
});
// `index.html` is changed by the server; fonts and pictures are compressed already.
const compressible = readdirSync(output, { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.(?:js|css|svg|json)$/.test(name),
);
await Promise.all(
  compressible.map(async (name) => {
    const path = join(output, name);
    const bytes = readFileSync(path);
    if (bytes.length >= minCompressedBytes) await writeCompressed(path, bytes);
  }),
);
