import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";

/**
 * Bytes after gzip of a program that uses the client, bundled and minified as an application would. What is loaded later, for
 * exact JSON, is not in it.
 */
async function bundleSize(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    splitting: true,
    outdir: "out",
    platform: "browser",
    conditions: ["@heddle/source"],
  });
  const entry = outputFiles.find(({ path }) => path.endsWith("stdin.js"));
  return gzipSync(entry!.contents, { level: 9 }).byteLength;
}

test("a program that sends one kind of request carries at most 4 kB of client", async () => {
  const size = await bundleSize(
    `import { callStart, connectTracing } from "@heddle/client/tracing"; export const run = (options, input) => callStart(connectTracing(options), input);`,
  );
  expect(size).toBeLessThanOrEqual(4_096);
});

test("both clients together are at most 15 kB", async () => {
  const size = await bundleSize(`export * from "@heddle/client";`);
  expect(size).toBeLessThanOrEqual(15_000);
});

// More than the 3 kB aimed at: what keeps the application safe (bounded queue, tries, streams, values of any kind) is most of it.
test("tracing of functions and of a client of OpenAI is at most 4.5 kB", async () => {
  const size = await bundleSize(`export { trace, wrapOpenAI } from "@heddle/client/trace";`);
  expect(size).toBeLessThanOrEqual(4_608);
});

test("tracing of functions alone is at most 3.75 kB", async () => {
  const size = await bundleSize(`export { trace } from "@heddle/client/trace";`);
  expect(size).toBeLessThanOrEqual(3_750);
});
