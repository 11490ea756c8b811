import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Objective } from "@heddle/training";
import { tableEngine } from "@heddle/training/testing";
import { afterEach, expect, test } from "vitest";
import { adapterValues } from "../../test/adapter-files.js";
import { PresentTinkerServer } from "../../test/present-tinker-server.js";
import { contract, hasRoute } from "../../test/tinker-contract.js";
import { serverVocabulary } from "../../test/tinker-server.js";
import type { TinkerTrainers } from "../../test/tinker-trainers.js";
import { adam, baseModel, openTrainers } from "../../test/tinker-trainers.js";
import { decodeOutput } from "./protobuf-output.js";
import { encodePass } from "./protobuf-request.js";
import { openTinkerTrainers } from "./provider.js";

const sequences = [6, 9, 4].map((length, at) => ({
  tokens: Int32Array.from({ length }, (_, t) => (at * 5 + t * t) % serverVocabulary),
  mask: Uint8Array.from({ length }, (_, t) => (t > at ? 1 : 0)),
}));
const policy: Objective = {
  name: "policy",
  normalizer: 7,
  settings: { ppo: true, epsilon: 0.2, epsilonHigh: 0.3, importanceSamplingLevel: "token", maskProbRatio: false },
  sequences: sequences.map(({ tokens, mask }) => ({
    tokens,
    mask,
    weights: new Float64Array(tokens.length).fill(1),
    advantages: Float64Array.from(tokens, (_, t) => (t % 2 ? 0.7 : -0.4)),
    oldLogprobs: Float64Array.from(tokens, (_, t) => -1.6 - (t % 5) / 6),
  })),
};

let opened: (TinkerTrainers & { present: PresentTinkerServer }) | undefined;
afterEach(async () => {
  await opened?.provider.close();
  await opened?.present.close();
  await opened?.close();
  opened = undefined;
});

async function openPresent() {
  const trainers = await openTrainers({ gradientScale: "sum" });
  const present = await new PresentTinkerServer(trainers.server).listen();
  const provider = openTinkerTrainers({ url: present.url, models: [trainers.model], pauseMs: 1 });
  opened = { ...trainers, provider, present };
  return opened;
}

test("a server of today's wire trains like any other engine, and gets nothing that its SDK would not send", async () => {
  const { provider, present } = await openPresent();
  const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
  const local = await tableEngine({ vocabulary: serverVocabulary }).openTrainer({
    weights: { baseModel: "random:table" },
    seed: 1,
  });
  for (const objective of [{ name: "cross_entropy" as const, sequences, normalizer: 5 }, policy]) {
    const [output, expected] = [await trainer.forwardBackward(objective), await local.forwardBackward(objective)];
    expect(output.loss).toBeCloseTo(expected.loss, 5);
    const [{ gradientNorm }, step] = [await trainer.optimStep(adam), await local.optimStep(adam)];
    expect(gradientNorm).toBeCloseTo(step.gradientNorm, 5);
  }
  const [scored, expected] = [await trainer.logprobs(sequences), await local.logprobs(sequences)];
  const rounded = (rows: Float64Array[]) => rows.map((row) => Array.from(row, (value) => Number(value.toFixed(4))));
  expect(rounded(scored)).toEqual(rounded(expected));
  expect(present.violations).toEqual([]);
  // JSON is tried once, not with every pass.
  expect(present.calls.filter((call) => call === "POST forward_backward")).toHaveLength(4);
  await trainer.close();
  expect(present.calls.slice(-2)).toEqual(["POST unload_model", "POST sessions/SESSION/finish"]);
});

test("adapters are fetched by an address for each file, which may have expired, and deleted on the server", async () => {
  const { provider, present, server, directory } = await openPresent();
  const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await trainer.forwardBackward(policy);
  await trainer.optimStep(adam);
  present.expired = 1;
  const exported = join(directory, "adapter");
  await trainer.exportWeights(exported);
  const [model] = server.models.values();
  const trained = Array.from(Float32Array.from(model!.logits));
  expect(adapterValues(await readFile(join(exported, "adapter_model.safetensors")))).toEqual(trained);
  expect(JSON.parse(await readFile(join(exported, "adapter_config.json"), "utf8"))).toMatchObject({
    base_model_name_or_path: baseModel,
    target_modules: ["q_proj"],
  });
  expect(server.saved.size).toBe(0);
  expect(present.calls.some((call) => call.endsWith("/archive"))).toBe(false);
  expect(present.violations).toEqual([]);
});

test("an export without the files of an adapter says what it has instead", async () => {
  const { provider, present, directory } = await openPresent();
  present.fileNames = ["model.safetensors", "config.json"];
  const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await expect(trainer.exportWeights(join(directory, "adapter"))).rejects.toMatchObject({
    code: "failed",
    message: "the training server exported no adapter_config.json, but model.safetensors, config.json",
  });
});

test("a state is loaded by session, in one request, and training goes on with the same bits", async () => {
  const { provider, present, server, directory } = await openPresent();
  const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await trainer.forwardBackward(policy);
  await trainer.optimStep(adam);
  const state = await trainer.saveState(join(directory, "state"));
  await trainer.forwardBackward(policy);
  await trainer.optimStep(adam);
  const uninterrupted = [...[...server.models.values()][0]!.logits];
  await trainer.close();
  present.calls.length = 0;
  const resumed = await provider.openTrainer({ weights: state, seed: 1 });
  expect(present.calls).toEqual(["GET get_server_capabilities", "POST create_session", "POST load_weights"]);
  await resumed.forwardBackward(policy);
  expect(await resumed.optimStep(adam)).toMatchObject({ steps: 2 });
  expect([...[...server.models.values()][0]!.logits]).toEqual(uninterrupted);
  expect(present.violations).toEqual([]);
});

test("the SDK still has every route that the client uses without a fallback", () => {
  const uses = ["create_session", "session_heartbeat", "create_model", "optim_step", "save_weights", "retrieve_future"];
  expect(uses.filter((path) => !hasRoute("POST", path))).toEqual([]);
  // Several futures at once are those of a session that samples, which this client leaves to the inference server.
  expect(Object.keys(contract.requests)).not.toContain("retrieve_futures");
});

test("messages have the bytes that SDK and servers exchange", () => {
  const input = {
    loss_fn: "cross_entropy",
    data: [
      {
        model_input: { chunks: [{ type: "encoded_text" as const, tokens: [5, 300] }] as const },
        loss_fn_inputs: { target_tokens: { data: [300, 2], dtype: "int64" as const, shape: [2] as [number] } },
      },
    ],
  };
  const bytes = encodePass({ modelId: "m1", sequenceNumber: 1, forwardOnly: true, input: input as never });
  expect(bytes.toString("hex")).toBe(
    "0a026d3110011a380a0c0a0a0a08050000002c01000012280a0d7461726765745f746f6b656e7312170a102c0100000000000002000000000000001802220102220d63726f73735f656e74726f70793001",
  );
  const recorded =
    "0a067363616c6172128201123a0a086c6f6770726f6273122e0a18a2429fc02f73a5c08ce4edc09400e0c0c812ffc05d3713c1121000000000000000001800000000000000180112420a10656c656d656e74776973655f6c6f7373122e0a1800000080000000808ce4ed409400e040c812ff405d37134112100000000000000000180000000000000018011801";
  const { loss_fn_outputs: outputs } = decodeOutput(Buffer.from(recorded, "hex"));
  const [output] = outputs as Record<string, { data: number[] }>[];
  expect(output?.["logprobs"]?.data.map((value) => Number(value.toFixed(5)))).toEqual([
    -4.97688, -5.17031, -7.43415, -7.00007, -7.97104, -9.20102,
  ]);
  for (const broken of [recorded.slice(0, 40), recorded.replace("1800000000000000", "ff00000000000000")]) {
    expect(() => decodeOutput(Buffer.from(broken, "hex"))).toThrow("cannot be read as Protocol Buffers");
  }
});
