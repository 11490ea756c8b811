import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openJobState } from "./job-state.js";

test("numbers of a job that cannot be read are an error: they are not computed again as if there were none", async () => {
  const directory = mkdtempSync(join(tmpdir(), "heddle-job-state-"));
  const state = await openJobState(directory, "fingerprint");
  expect(await state.readArrays("rewards")).toBeUndefined();
  await state.saveArrays("rewards", [Float64Array.of(1, 2)]);
  expect(await state.readArrays("rewards")).toEqual([Float64Array.of(1, 2)]);
  rmSync(join(directory, "rewards.numbers"));
  symlinkSync("rewards.numbers", join(directory, "rewards.numbers"));
  await expect(state.readArrays("rewards")).rejects.toMatchObject({ code: "ELOOP" });
});
