import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { editJson, fixtures, sameBits, scratchDirectories } from "../../test/weight-files.js";
import { describeBaseModel, exportName, loadBaseModel, listBaseModels } from "./base-models.js";
import { writeCheckpoint } from "./checkpoint.js";
import { initialAdapter } from "./initial-weights.js";
import type { WeightsRef } from "@heddle/training";
import { describeWeights, loadWeights, weightsDigest } from "./load-weights.js";

const models = fileURLToPath(new URL("../../models", import.meta.url));
const scratch = scratchDirectories();
const directory = join(fixtures, "models", "qwen3-tied");
const settings = { directories: { tiny: directory } };

test("a configured directory is a base model under its alias", async () => {
  const { info, config } = await describeBaseModel(settings, "dir:tiny");
  expect(info).toMatchObject({ name: "dir:tiny", vocabularySize: 80, contextLength: 128, directory });
  const { weights } = await loadBaseModel(settings, "dir:tiny");
  expect(weights.flat.length).toBe(info.parameters);
  expect(config.family).toBe("qwen3");
});

test("a preset has the same weights on every machine", async () => {
  const one = await loadBaseModel({}, "random:tiny");
  expect(sameBits((await loadBaseModel({}, "random:tiny")).weights.flat, one.weights.flat)).toBe(true);
  expect((await describeBaseModel({}, "random:tiny")).info.parameters).toBe(one.weights.flat.length);
});

test.each([
  "dir:other",
  "dir:",
  "dir:../tiny",
  `dir:${directory}`,
  "dir:constructor",
  "random:huge",
  "random:",
  "starter",
  directory,
  "",
])("%j is not a base model", async (name) => {
  await expect(describeBaseModel(settings, name)).rejects.toMatchObject({ code: "not_found", loc: ["baseModel"] });
  await expect(loadWeights(settings, { baseModel: name })).rejects.toMatchObject({ code: "not_found" });
});

test("a directory that cannot be loaded is reported separately from valid ones, with the reason", async () => {
  const broken = join(await scratch(), "broken");
  await cp(directory, broken, { recursive: true });
  await editJson(join(broken, "config.json"), { hidden_act: "relu" });
  const complete = join(await scratch(), "complete");
  await cp(directory, complete, { recursive: true });
  await cp(join(models, "starter", "tokenizer.json"), join(complete, "tokenizer.json"));
  const short = join(await scratch(), "short");
  await cp(complete, short, { recursive: true });
  await editJson(join(short, "config.json"), { num_hidden_layers: 3, layer_types: null });
  const directories = {
    tiny: complete,
    broken,
    short,
    mute: directory,
    gone: join(broken, "gone"),
    relative: "some/where",
  };
  const { models: listed, problems } = await listBaseModels({ directories });
  expect(listed.map(({ info }) => info.name)).toEqual(
    expect.arrayContaining(["random:tiny", "random:small", "dir:tiny"]),
  );
  const byName = new Map(problems.map(({ name, reason }) => [name, reason]));
  expect(byName.get("dir:broken")).toMatch(/^config.json: hidden_act is "relu"/);
  expect(byName.get("dir:short")).toMatch(/layers.2.* is missing/);
  expect(byName.get("dir:mute")).toMatch(/tokenizer.json/);
  expect(byName.get("dir:gone")).toMatch(/^there is neither model.safetensors/);
  expect(byName.get("dir:relative")).toMatch(/absolute/);
  await expect(loadBaseModel({ directories }, "dir:broken")).rejects.toThrow(/^dir:broken: config.json: hidden_act is/);
});

test("a checkpoint loads its weights, or its adapter on its base model", async () => {
  const base = await loadWeights(settings, { baseModel: "dir:tiny" });
  const parent = await scratch();
  const { baseDigest, config } = base;
  const common = { baseModel: "dir:tiny", baseDigest, baseDirectory: directory, config, seed: 1, steps: 2 };
  const trained = { ...base.weights, flat: base.weights.flat };
  await writeCheckpoint(join(parent, "full"), { ...common, trained: { weights: trained } });
  const shape = { rank: 2, alpha: 2, targets: ["o" as const] };
  const set = initialAdapter(base.config, shape, 3);
  await writeCheckpoint(join(parent, "adapter"), { ...common, trained: { adapter: { config: shape, set } } });

  const full = { baseModel: "dir:tiny", checkpoint: join(parent, "full") };
  expect(await loadWeights(settings, full)).toMatchObject({ base: { name: "dir:tiny" }, config: base.config });
  expect(sameBits((await loadWeights(settings, full)).weights.flat, base.weights.flat)).toBe(true);
  expect((await describeWeights(settings, full)).adapter).toBeUndefined();

  const adapted = { baseModel: "dir:tiny", checkpoint: join(parent, "adapter") };
  const loaded = await loadWeights(settings, adapted);
  expect(sameBits(loaded.weights.flat, base.weights.flat)).toBe(true);
  expect(loaded.adapter).toEqual({ config: shape, set });
  expect((await describeWeights(settings, adapted)).adapter).toEqual(shape);

  const otherBase = { baseModel: "random:tiny", checkpoint: adapted.checkpoint };
  await expect(loadWeights(settings, otherBase)).rejects.toThrow("was trained from dir:tiny, not from random:tiny");
  await expect(describeWeights(settings, otherBase)).rejects.toMatchObject({ code: "invalid" });
  const gone = { baseModel: "dir:tiny", checkpoint: join(parent, "gone") };
  await expect(loadWeights(settings, gone)).rejects.toMatchObject({ code: "not_found" });
});

describe("the identity of weights", () => {
  async function copyOfBase(): Promise<string> {
    const copy = join(await scratch(), "base");
    await cp(directory, copy, { recursive: true });
    return copy;
  }

  test("is that of their content: the same for a copy, another after a change of one number or of the shape", async () => {
    const copy = await copyOfBase();
    const directories = { one: directory, two: copy };
    const digest = await weightsDigest({ directories }, { baseModel: "dir:one" });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    const ref = { baseModel: "dir:two" };
    expect(await weightsDigest({ directories }, ref)).toBe(digest);
    await editJson(join(copy, "config.json"), { bos_token_id: 7 });
    expect(await weightsDigest({ directories }, ref)).toBe(digest);
    await editJson(join(copy, "config.json"), { rms_norm_eps: 0.01 });
    const otherShape = await weightsDigest({ directories }, ref);
    await changeLastByte(join(copy, "model.safetensors"));
    const otherNumber = await weightsDigest({ directories }, ref);
    expect(new Set([digest, otherShape, otherNumber]).size).toBe(3);
    await expect(loadWeights({ directories }, { ...ref, digest })).rejects.toMatchObject({
      code: "conflict",
      loc: ["digest"],
    });
  });

  test("of random weights is that of their shape", async () => {
    const of = (baseModel: string) => weightsDigest({}, { baseModel });
    expect(await of("random:tiny")).toBe(await of("random:tiny"));
    expect(await of("random:tiny")).not.toBe(await of("random:small"));
  });

  test("of a checkpoint is that of its weights, wherever they are stored and whatever else is stored with them", async () => {
    const { base, baseDigest, config, weights } = await loadWeights(settings, { baseModel: "dir:tiny" });
    const parent = await scratch();
    const source = { baseModel: base.name, baseDigest, baseDirectory: directory, config, steps: 2 };
    const optimizer = { steps: 2, first: weights.flat, second: weights.flat };
    await writeCheckpoint(join(parent, "1"), { ...source, seed: 1, trained: { weights } });
    await writeCheckpoint(join(parent, "2"), { ...source, seed: 2, trained: { weights }, optimizer });
    const digests = ["1", "2"].map((name) => weightsDigest(settings, refTo(join(parent, name))));
    const [one, two] = await Promise.all(digests);
    expect(one).toBe(two);
    expect((await loadWeights(settings, refTo(join(parent, "2")))).digest).toBe(two);
  });

  test("of an adapter's base model is checked: on a changed one the adapter is refused", async () => {
    const copy = await copyOfBase();
    const copied = { directories: { tiny: copy } };
    const { baseDigest, config } = await loadWeights(copied, { baseModel: "dir:tiny" });
    const shape = { rank: 2, alpha: 2, targets: ["o" as const] };
    const checkpoint = join(await scratch(), "adapter");
    await writeCheckpoint(checkpoint, {
      baseModel: "dir:tiny",
      baseDigest,
      baseDirectory: copy,
      config,
      seed: 1,
      steps: 2,
      trained: { adapter: { config: shape, set: initialAdapter(config, shape, 3) } },
    });
    const digest = await weightsDigest(copied, refTo(checkpoint));
    expect((await loadWeights(copied, refTo(checkpoint))).digest).toBe(digest);
    await changeLastByte(join(copy, "model.safetensors"));
    const refusal = {
      code: "conflict",
      loc: ["baseModel"],
      message: expect.stringMatching(/^dir:tiny has changed since/),
    };
    await expect(loadWeights(copied, refTo(checkpoint))).rejects.toMatchObject(refusal);
    await expect(weightsDigest(copied, refTo(checkpoint))).rejects.toMatchObject(refusal);
  });

  function refTo(checkpoint: string): WeightsRef {
    return { baseModel: "dir:tiny", checkpoint };
  }
});

async function changeLastByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length - 4]! ^= 1;
  await writeFile(path, bytes);
}

describe("weights that another program made", () => {
  test("are loaded from their directory, with an identity by content", async () => {
    const checkpoint = join(await scratch(), "imported");
    await cp(join(fixtures, "adapters", "qwen3-tied-lora"), checkpoint, { recursive: true });
    const ref = { baseModel: "dir:tiny", checkpoint };
    const { adapter, optimizer, digest } = await loadWeights(settings, ref, { optimizer: true });
    expect(adapter?.config).toMatchObject({ rank: 3, alpha: 5 });
    expect(optimizer).toBeUndefined();
    expect(await weightsDigest(settings, ref)).toBe(digest);
    await changeLastByte(join(checkpoint, "adapter_model.safetensors"));
    expect(await weightsDigest(settings, ref)).not.toBe(digest);
    const full = { baseModel: "dir:tiny", checkpoint: directory };
    expect((await loadWeights(settings, full)).adapter).toBeUndefined();
  });

  test("find their base model under the name that is exported with an adapter", async () => {
    const named = join(await scratch(), "named");
    await cp(directory, named, { recursive: true });
    const directories = { named };
    expect(await exportName({ directories }, "dir:named")).toBe("dir:named");
    await editJson(join(named, "config.json"), { _name_or_path: "/home/somebody/model" });
    expect(await exportName({ directories }, "dir:named")).toBe("dir:named");
    await editJson(join(named, "config.json"), { _name_or_path: "some/model-1.5B" });
    expect(await exportName({ directories }, "dir:named")).toBe("some/model-1.5B");
    const exportNames = { "dir:named": "/models/named", "random:tiny": "own/tiny" };
    expect(await exportName({ directories, exportNames }, "dir:named")).toBe("/models/named");
    expect(await exportName({ exportNames }, "random:tiny")).toBe("own/tiny");
    expect(await exportName({}, "random:tiny")).toBe("random:tiny");
  });
});
