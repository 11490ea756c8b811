import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { noticesOf } from "./notices.js";

const root = mkdtempSync(join(tmpdir(), "heddle-notices-"));
afterAll(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
const manifest = (name: string, license: string) => JSON.stringify({ name, version: "1.2.3", license });

test("names each library once, with the text of its licence, and leaves out files of the repository", () => {
  write("node_modules/.pnpm/b@1/node_modules/@scope/b/package.json", manifest("@scope/b", "MIT"));
  write("node_modules/.pnpm/b@1/node_modules/@scope/b/LICENSE.md", "MIT: do as you like\n");
  write("node_modules/a/package.json", manifest("a", "OFL-1.1"));
  write("node_modules/a/license", "Open Font License");
  write("node_modules/a/dist/esm/package.json", '{ "type": "module" }');
  const files = [
    write("node_modules/.pnpm/b@1/node_modules/@scope/b/dist/index.js", ""),
    write("node_modules/a/dist/esm/a.js", ""),
    write("node_modules/a/dist/esm/more.js", ""),
    write("src/own.ts", ""),
  ];
  const line = "-".repeat(80);
  expect(noticesOf(files)).toBe(`This package contains these libraries.

${line}
@scope/b 1.2.3, MIT

MIT: do as you like


${line}
a 1.2.3, OFL-1.1

Open Font License
`);
});

test("a library without the text of its licence stops the build", () => {
  write("node_modules/none/package.json", manifest("none", "MIT"));
  expect(() => noticesOf([write("node_modules/none/index.js", "")])).toThrow(
    "node_modules/none has no text of its licence",
  );
});
