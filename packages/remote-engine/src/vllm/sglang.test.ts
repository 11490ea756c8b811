import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GenerateRequest, SamplerProvider, WeightsRef } from "@heddle/training";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeCheckpoint } from "../../test/adapter-files.js";
import { SglangServer, contract } from "../../test/sglang-server.js";
import { openVllmSampler } from "./provider.js";

const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter", import.meta.url));
const base: WeightsRef = { baseModel: "starter" };
let servers: SglangServer[];
let provider: SamplerProvider;
let directory: string;
beforeEach(async () => {
  servers = [await new SglangServer().listen(), await new SglangServer().listen()];
  directory = await mkdtemp(join(tmpdir(), "heddle-sglang-"));
  provider = open(1);
});
afterEach(async () => {
  await provider.close();
  for (const server of servers) await server.close();
  await rm(directory, { recursive: true, force: true });
});

function open(count: number): SamplerProvider {
  const models = [{ name: "starter", directory: starter, inference: { model: "tiny" } }];
  return openVllmSampler({ url: servers.slice(0, count).map(({ url }) => url), models, pauseMs: 1 });
}

function ask(request: Partial<GenerateRequest> = {}): GenerateRequest {
  return { weights: base, prompt: Int32Array.of(300, 310), n: 1, maxTokens: 8, ...request };
}

async function trained(): Promise<WeightsRef> {
  const checkpoint = join(directory, "one");
  await writeCheckpoint(checkpoint, 1);
  return { ...base, checkpoint };
}

test("a completion of SGLang has token ids and log-probabilities, and ends with the end of the text", async () => {
  const { completions, cachedTokens } = await provider.sampler.generate(
    ask({ topK: 5, seed: 3, includeStop: true, cacheSalt: "salt", stop: ["."] }),
  );
  expect(completions).toEqual([
    {
      index: 0,
      text: " yes",
      tokens: [
        { token: 301, logprob: -0.25, alternatives: [] },
        { token: 1017, logprob: -0.125, alternatives: [] },
      ],
      finishReason: "stop",
      stopReason: null,
    },
  ]);
  expect(cachedTokens).toBe(1);
  const [body = {}] = servers[0]!.bodies;
  expect(body).toMatchObject({ model: "tiny", top_k: 5, no_stop_trim: true, cache_salt: "salt", logprobs: 0 });
  expect(body).not.toHaveProperty("lora_path");
  expect(servers[0]!.unknownFields).toEqual([]);
});

test("an adapter is loaded at the route of SGLang, again when the server has lost it, and unloaded", async () => {
  const weights = await trained();
  await provider.sampler.generate(ask({ weights }));
  const { adapters, bodies } = servers[0]!;
  const [name] = adapters.keys();
  expect(bodies[0]).toMatchObject({ model: "tiny", lora_path: name });
  adapters.clear();
  await provider.sampler.generate(ask({ weights }));
  expect([...adapters]).toEqual([[name, weights.checkpoint]]);
  await provider.sampler.unload(weights);
  expect(adapters.size).toBe(0);
  expect(servers[0]!.unknownFields).toEqual([]);
  servers[0]!.hasLora = false;
  await expect(provider.sampler.preload(weights)).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("--enable-lora"),
  });
});

test("constraints have their names there, and what SGLang cannot do is refused by name", async () => {
  const constrained = async (structuredOutput: GenerateRequest["structuredOutput"]) => {
    await provider.sampler.generate(ask({ structuredOutput }));
    return servers[0]!.bodies.at(-1);
  };
  expect(await constrained({ type: "choice", choices: ["a.b", "c"] })).toMatchObject({ regex: String.raw`a\.b|c` });
  expect(await constrained({ type: "json_object" })).toMatchObject({ json_schema: '{"type": "object"}' });
  for (const [field, value] of [
    ["topLogprobs", 2],
    ["promptLogprobs", 0],
    ["allowedTokenIds", [1]],
    ["structuredOutput", { type: "grammar", grammar: "root ::= 'a'" }],
  ] as const) {
    const refused = provider.sampler.generate(ask({ [field]: value }));
    await expect(refused).rejects.toMatchObject({ code: "unsupported", message: expect.stringContaining(field) });
  }
});

test("the package of SGLang has what is read of it", () => {
  const { routes, fields } = contract;
  expect(routes).toEqual(["/v1/completions", "/v1/models", "/load_lora_adapter", "/unload_lora_adapter"]);
  expect(fields["CompletionResponseChoice"]).toEqual(
    expect.arrayContaining(["index", "text", "token_ids", "logprobs", "finish_reason", "matched_stop"]),
  );
  expect(fields["LogProbs"]).toEqual(expect.arrayContaining(["token_logprobs", "top_logprobs"]));
  expect(fields["ModelCard"]).toContain("owned_by");
  expect(fields["LoRAUpdateOutput"]).toEqual(expect.arrayContaining(["success", "error_message"]));
});

test("a server of several that computes with other weights is found when a checkpoint is loaded", async () => {
  const several = open(2);
  const weights = await trained();
  await several.sampler.generate(ask());
  await several.sampler.preload(weights);
  servers[1]!.logprob = -3;
  await expect(several.sampler.preload(weights)).rejects.toThrow("one of them has other weights");
  await several.close();
});
