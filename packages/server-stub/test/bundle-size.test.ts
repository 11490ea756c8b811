import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** Bytes after gzip of a program with the stub, bundled and minified as for a Worker. */
async function bundleSize(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    conditions: ["@heddle/source"],
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).byteLength;
}

const withGroup = (name: string) =>
  bundleSize(`
import { createServer } from "@heddle/server-stub";
import { toFetch } from "@heddle/server-stub/fetch";
import { ${name} } from "@heddle/server-stub/tracing/${name}";
export default { fetch: toFetch(createServer([${name}({})])) };`);

test("a Worker with a small group carries at most 16 kB", async () => {
  expect(await withGroup("service")).toBeLessThanOrEqual(16_000);
});

test("a Worker with the calls, the largest group, carries at most 25 kB", async () => {
  expect(await withGroup("calls")).toBeLessThanOrEqual(25_000);
});
