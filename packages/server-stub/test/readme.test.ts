import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const stub = join(import.meta.dirname, "..");
const readme = readFileSync(join(stub, "README.md"), "utf8");
const blocks = [...readme.matchAll(/^```ts(?: file=(\S+))?\n([^]*?)^```$/gm)];

test.each(blocks.map(([, file, code]) => [file, code]))("the code of the README is the file %s", (file, code) => {
  expect(code).toBe(readFileSync(join(stub, file!), "utf8"));
});

test("every example is in the README", () => {
  const examples = readdirSync(join(stub, "examples")).filter((name) => !name.endsWith(".d.ts"));
  expect(new Set(blocks.map(([, file]) => file))).toEqual(new Set(examples.map((name) => `examples/${name}`)));
});
