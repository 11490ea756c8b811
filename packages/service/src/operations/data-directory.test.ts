import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDataDirectory, ownerKey } from "./data-directory.js";

const temporary = () => mkdtempSync(join(tmpdir(), "heddle-data-"));

test("a second start on one data directory is refused and names the first", () => {
  const path = temporary();
  const first = openDataDirectory(path);
  expect(() => openDataDirectory(path)).toThrow(`is in use by process ${process.pid}`);
  first.release();
  openDataDirectory(path).release();
});

test("a data directory that cannot be made is one clear line", () => {
  const file = join(temporary(), "file");
  writeFileSync(file, "");
  expect(() => openDataDirectory(join(file, "data"))).toThrow(
    /cannot create the data directory .* Set HEDDLE_DATA_DIR/,
  );
});

test("the owner key is made once, kept for its owner only, and a configured one wins", () => {
  const directory = openDataDirectory(temporary());
  const key = ownerKey(directory, undefined);
  expect(key).toMatch(/^[A-Za-z0-9]{40}$/);
  expect(ownerKey(directory, undefined)).toBe(key);
  expect(readFileSync(join(directory.path, "api-key"), "utf8").trim()).toBe(key);
  expect(statSync(join(directory.path, "api-key")).mode & 0o777).toBe(0o600);
  expect(ownerKey(directory, "x".repeat(40))).toBe("x".repeat(40));
  directory.release();
});

test("an owner key that cannot be read is not replaced", () => {
  const directory = openDataDirectory(temporary());
  mkdirSync(join(directory.path, "api-key"));
  expect(() => ownerKey(directory, undefined)).toThrow(/^the owner key cannot be read: EISDIR/);
  directory.release();
});
