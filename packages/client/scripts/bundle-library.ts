// Puts the library that requests are made with into the built module that exports it, and its licence next to it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { noticesOf } from "@heddle/tools/notices";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ["src/openapi-fetch.ts"],
  outfile: "dist/openapi-fetch.js",
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2023",
  sourcemap: true,
  metafile: true,
  banner: { js: "// Contains openapi-fetch, see THIRD_PARTY_NOTICES.txt" },
});
const inputs = Object.keys(metafile.inputs).map((path) => join(root, path));
writeFileSync(join(root, "dist/THIRD_PARTY_NOTICES.txt"), noticesOf(inputs));
