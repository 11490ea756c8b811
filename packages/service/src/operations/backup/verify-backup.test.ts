import { mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyChecksums } from "./checksums.js";
import { copyFiles } from "./copy-files.js";
import { readManifest } from "./manifest.js";

const temporary = () => mkdtempSync(join(tmpdir(), "heddle-backup-"));

test("files of a backup that cannot be read are not reported as missing", async () => {
  const backup = temporary();
  expect(() => readManifest(backup)).toThrow("it is not a backup");
  await expect(verifyChecksums(backup)).rejects.toThrow("is missing");
  for (const name of ["manifest.json", "SHA256SUMS"]) symlinkSync(name, join(backup, name));
  expect(() => readManifest(backup)).toThrow(/^ELOOP/);
  await expect(verifyChecksums(backup)).rejects.toThrow(/^ELOOP/);
});

test("a directory that is missing has no files to copy, one that cannot be read is an error", async () => {
  const from = temporary();
  expect(await copyFiles(join(from, "other"), join(temporary(), "to"))).toBe(0);
  symlinkSync("unreadable", join(from, "unreadable"));
  await expect(copyFiles(join(from, "unreadable"), join(temporary(), "to"))).rejects.toThrow(/^ELOOP/);
});
