import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ifExists, pathExists } from "./if-exists.js";
import { readJsonFile } from "./json-file.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-files-"));
const inDirectory = (name: string) => join(directory, name);
beforeAll(() => {
  writeFileSync(inDirectory("file"), "text");
  // As root, a file without permission could be read. A link to itself cannot.
  symlinkSync("unreadable", inDirectory("unreadable"));
});
afterAll(() => rmSync(directory, { recursive: true }));

test("what exists is found, and what does not, or could not, is undefined", async () => {
  expect(await ifExists(readFile(inDirectory("file"), "utf8"))).toBe("text");
  expect(await ifExists(stat(inDirectory("other")))).toBeUndefined();
  expect(await ifExists(stat(inDirectory("file/below")))).toBeUndefined();
  expect(await ifExists(stat(inDirectory("x".repeat(1000))))).toBeUndefined();
  expect(["file", "other", "file/below"].map((name) => pathExists(inDirectory(name)))).toEqual([true, false, false]);
});

test("what cannot be read is an error, not missing", async () => {
  await expect(ifExists(stat(inDirectory("unreadable")))).rejects.toMatchObject({ code: "ELOOP" });
  expect(() => pathExists(inDirectory("unreadable"))).toThrow("ELOOP");
  await expect(readJsonFile(directory, "unreadable")).rejects.toMatchObject({ code: "ELOOP" });
  await expect(readJsonFile(directory, "other")).rejects.toMatchObject({ code: "not_found" });
});
