import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readInventory, writeInventory } from "./part-inventory.js";

const temporary = () => mkdtempSync(join(tmpdir(), "heddle-inventory-"));

test("an inventory that is missing or cut short is none, one that cannot be read is an error", async () => {
  const dataDir = temporary();
  expect(await readInventory(dataDir)).toBeUndefined();
  await writeInventory(dataDir, []);
  expect(await readInventory(dataDir)).toEqual([]);
  writeFileSync(join(dataDir, "trace-parts.json"), "[{");
  expect(await readInventory(dataDir)).toBeUndefined();
  const broken = temporary();
  symlinkSync("trace-parts.json", join(broken, "trace-parts.json"));
  await expect(readInventory(broken)).rejects.toMatchObject({ code: "ELOOP" });
});
