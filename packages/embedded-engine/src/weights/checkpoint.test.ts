import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { editJson, fixtures, sameBits, scratchDirectories } from "../../test/weight-files.js";
import type { CheckpointSource } from "./checkpoint.js";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { initialAdapter } from "./initial-weights.js";
import { loadModel } from "./model-directory.js";

const scratch = scratchDirectories();
const baseDirectory = join(fixtures, "models", "qwen3-tied");
const { config, weights } = await loadModel(baseDirectory);
const common = { baseModel: "dir:base", baseDigest: "the base", baseDirectory, config, seed: 4_000_000_000, steps: 7 };

function moments(size: number) {
  const first = Float32Array.from({ length: size }, (_, at) => Math.sin(at));
  return { steps: 7, first, second: first.map((value) => value * value) };
}

const full: CheckpointSource = { ...common, trained: { weights }, optimizer: moments(weights.flat.length) };
const shape = { rank: 2, alpha: 4, targets: ["q" as const, "up" as const] };
const set = initialAdapter(config, shape, 5);
const adapter: CheckpointSource = {
  ...common,
  trained: { adapter: { config: shape, set } },
  optimizer: moments(set.flat.length),
};

test("full weights and optimizer are restored bitwise", async () => {
  const directory = join(await scratch(), "models", "7");
  await writeCheckpoint(directory, full);
  const read = await readCheckpoint(directory, config, { optimizer: true });
  expect(read.state).toMatchObject({
    base: { name: "dir:base", digest: "the base" },
    training: "full",
    steps: 7,
    seed: 4_000_000_000,
  });
  if (!("weights" in read.trained) || !read.optimizer) throw new Error("it has no weights or no optimizer");
  expect(sameBits(read.trained.weights.flat, weights.flat)).toBe(true);
  expect(read.optimizer.steps).toBe(7);
  expect(sameBits(read.optimizer.first, full.optimizer!.first)).toBe(true);
  expect(sameBits(read.optimizer.second, full.optimizer!.second)).toBe(true);
});

test("an adapter and its optimizer are restored bitwise", async () => {
  const directory = join(await scratch(), "7");
  await writeCheckpoint(directory, adapter);
  const read = await readCheckpoint(directory, config, { optimizer: true });
  expect(read.trained).toEqual(adapter.trained);
  expect(read.optimizer).toEqual(adapter.optimizer);
  expect((await readdir(directory)).toSorted()).toEqual([
    "adapter_config.json",
    "adapter_model.safetensors",
    "optimizer.safetensors",
    "training_state.json",
  ]);
});

test("the optimizer is absent if it was not written or not requested", async () => {
  const parent = await scratch();
  await writeCheckpoint(join(parent, "1"), { ...adapter, optimizer: undefined });
  expect((await readCheckpoint(join(parent, "1"), config, { optimizer: true })).optimizer).toBeUndefined();
  await writeCheckpoint(join(parent, "2"), adapter);
  await truncate(join(parent, "2", "optimizer.safetensors"), 10);
  expect((await readCheckpoint(join(parent, "2"), config)).optimizer).toBeUndefined();
});

test("a checkpoint never replaces an existing directory", async () => {
  const directory = join(await scratch(), "7");
  await writeCheckpoint(directory, adapter);
  const before = await readFile(join(directory, "training_state.json"), "utf8");
  await expect(writeCheckpoint(directory, full)).rejects.toMatchObject({ code: "conflict", loc: ["directory"] });
  await expect(writeCheckpoint("relative", full)).rejects.toMatchObject({ code: "invalid" });
  expect(await readFile(join(directory, "training_state.json"), "utf8")).toBe(before);
});

test("of two writers of one directory one succeeds, and the other leaves nothing", async () => {
  const parent = await scratch();
  const both = await Promise.allSettled([1, 2].map((seed) => writeCheckpoint(join(parent, "7"), { ...adapter, seed })));
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "conflict" } });
  expect(await readdir(parent)).toEqual(["7"]);
  await readCheckpoint(join(parent, "7"), config, { optimizer: true });
});

test("a failed write of a checkpoint leaves nothing", async () => {
  const parent = await scratch();
  await writeFile(join(parent, "file"), "");
  await expect(writeCheckpoint(join(parent, "file", "7"), full)).rejects.toMatchObject({ code: "failed" });
  const broken = { ...full, trained: { weights: { ...weights, views: new Map() } } };
  await expect(writeCheckpoint(join(parent, "7"), broken)).rejects.toMatchObject({ code: "failed" });
  expect(await readdir(parent)).toEqual(["file"]);
});

test("temporary directories of killed writers are removed, those of running writers are kept", async () => {
  const parent = await scratch();
  const dead = spawn(process.execPath, ["-e", ""]);
  await once(dead, "exit");
  const living = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
  try {
    const leftovers = [`.6.${dead.pid}.0123456789ab.partial`, `.5.${process.pid}.0123456789ab.partial`];
    const others = [`.6.${living.pid}.0123456789ab.partial`, ".6.partial", "6"];
    for (const name of [...leftovers, ...others]) await mkdir(join(parent, name, "deep"), { recursive: true });
    await writeCheckpoint(join(parent, "7"), adapter);
    expect((await readdir(parent)).toSorted()).toEqual([...others, "7"].toSorted());
  } finally {
    living.kill();
  }
});

test("corruption of any file is detected, and the file is named", async () => {
  const parent = await scratch();
  let count = 0;
  for (const source of [full, adapter]) {
    const intact = join(parent, "intact" + String(count++));
    await writeCheckpoint(intact, source);
    for (const name of (await readdir(intact)).filter((each) => each !== "training_state.json")) {
      for (const corruption of ["flip", "cut", "grow", "gone"] as const) {
        const directory = join(parent, String(count++));
        await writeCheckpoint(directory, source);
        const path = join(directory, name);
        const bytes = await readFile(path);
        if (corruption === "flip") bytes[bytes.length >> 1]! ^= 1;
        if (corruption === "gone") await rm(path);
        else
          await writeFile(
            path,
            corruption === "cut" ? bytes.subarray(1) : corruption === "grow" ? Buffer.concat([bytes, bytes]) : bytes,
          );
        await expect(
          readCheckpoint(directory, config, { optimizer: true }),
          `${name} ${corruption}`,
        ).rejects.toMatchObject({
          code: "corrupt",
          details: { file: name },
        });
      }
    }
  }
});

test("an invalid state, or one of a newer version, is refused with its field", async () => {
  const cases: [change: Record<string, unknown>, code: string, field: string][] = [
    [{ format: 3 }, "incompatible", "format"],
    [{ training: "partial" }, "corrupt", "training"],
    [{ steps: -1 }, "corrupt", "steps"],
    [{ seed: "x" }, "corrupt", "seed"],
    [{ base_model: undefined }, "corrupt", "base_model"],
    [{ base_digest: undefined }, "corrupt", "base_digest"],
    [{ files: undefined }, "corrupt", "files"],
    [{ files: { "../outside": { bytes: 1, sha256: "" } } }, "corrupt", "files"],
    [{ files: { "adapter_config.json": null } }, "corrupt", "files"],
  ];
  const parent = await scratch();
  for (const [at, [change, code, field]] of cases.entries()) {
    const directory = join(parent, String(at));
    await writeCheckpoint(directory, adapter);
    await editJson(join(directory, "training_state.json"), change);
    await expect(readCheckpoint(directory, config)).rejects.toMatchObject({
      code,
      details: { file: "training_state.json", field },
    });
  }
  await expect(readCheckpoint(join(parent, "none"), config)).rejects.toMatchObject({ code: "not_found" });
});

test("a state that does not list the weights is refused", async () => {
  const directory = join(await scratch(), "7");
  await writeCheckpoint(directory, adapter);
  await editJson(join(directory, "training_state.json"), { files: {} });
  await expect(readCheckpoint(directory, config)).rejects.toMatchObject({
    code: "corrupt",
    details: { file: "adapter_config.json" },
  });
});

test("an optimizer state for other parameters is refused", async () => {
  const directory = join(await scratch(), "7");
  await writeCheckpoint(directory, adapter);
  await expect(readCheckpoint(directory, { ...config, layers: 1 }, { optimizer: true })).rejects.toMatchObject({
    code: "invalid",
  });
});
