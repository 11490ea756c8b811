import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openEditor } from "@heddle/tools/language-service";
import { expect, test } from "vitest";

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");
const samples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code!).entries();
const editor = openEditor(import.meta.dirname);

test.each([...samples])("TypeScript sample %i of the README compiles", (_, code) => {
  const globals = "declare const process: { env: Record<string, string | undefined> };";
  expect(editor.errorsOf(`${globals}\n${code}`)).toEqual([]);
});
