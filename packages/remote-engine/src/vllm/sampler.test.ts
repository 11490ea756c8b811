import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CompletionChunk, GenerateRequest, SamplerProvider, WeightsRef } from "@heddle/training";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { writeCheckpoint } from "../../test/adapter-files.js";
import type { VllmFault, VllmRequest } from "../../test/vllm-server.js";
import { VllmServer } from "../../test/vllm-server.js";
import type { VllmSettings } from "./provider.js";
import { openVllmSampler } from "./provider.js";

const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter", import.meta.url));
/** The first end-of-text token of the starter model; the other one is 1014. */
const eos = 1017;
const base: WeightsRef = { baseModel: "starter" };
const yes = { id: 301, text: " yes", logprob: -0.25, others: { 302: -1.5, 303: -4 } };
const end = { id: eos, text: "", logprob: -0.125, others: { 302: -3, 303: -5 } };

let server: VllmServer;
let provider: SamplerProvider;
let directory: string;
beforeEach(async () => {
  server = await new VllmServer().listen();
  server.script = [[yes, end]];
  directory = await mkdtemp(join(tmpdir(), "heddle-vllm-"));
  provider = open();
});
afterEach(async () => {
  // Nothing is sent or read that the package does not have.
  expect([...server.unknown]).toEqual([]);
  await provider.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

function open(settings: Partial<VllmSettings> = {}): SamplerProvider {
  const models = [{ name: "starter", directory: starter, inference: { model: "tiny" } }];
  return openVllmSampler({ url: server.url, models, pauseMs: 1, ...settings });
}

function ask(request: Partial<GenerateRequest> = {}): GenerateRequest {
  return { weights: base, prompt: Int32Array.of(300, 310), n: 1, maxTokens: 8, ...request };
}

/** Writes a checkpoint of an adapter whose weights are one number. */
async function checkpoint(name: string, value = 1): Promise<string> {
  const path = join(directory, name);
  await writeCheckpoint(path, value);
  return path;
}

/** Lets the first requests to a path fail, one per fault. */
function failing(path: string, ...faults: VllmFault[]): (request: VllmRequest) => VllmFault | undefined {
  return (request) => (request.path === path ? faults.shift() : undefined);
}

const adapterOf = (at: number) => server.sent("/v1/completions").at(at)?.["model"];

test("a completion has text, token ids, log-probabilities and alternatives, and ends with the end of the text", async () => {
  const chunks: CompletionChunk[] = [];
  const request = ask({ topLogprobs: 2 });
  const result = await provider.sampler.generate(request, { onChunk: (chunk) => chunks.push(chunk) });
  const alternatives = [
    { token: 301, logprob: -0.25, rank: 1 },
    { token: 302, logprob: -1.5, rank: 2 },
  ];
  expect(result).toEqual({
    completions: [
      {
        index: 0,
        text: " yes",
        tokens: [
          { token: 301, logprob: -0.25, alternatives },
          {
            token: eos,
            logprob: -0.125,
            alternatives: [
              { token: eos, logprob: -0.125, rank: 1 },
              { token: 302, logprob: -3, rank: 2 },
            ],
          },
        ],
        finishReason: "stop",
        stopReason: null,
      },
    ],
    weightsId: "starter",
    cachedTokens: 4,
  });
  expect(chunks.map(({ text, tokens }) => [text, tokens.map(({ token }) => token)])).toEqual([
    [" yes", [301]],
    ["", [eos]],
  ]);
});

test("every parameter is sent, so that no default of the published model applies, and the end of the text stops", async () => {
  await provider.sampler.generate(ask({ seed: 7, stop: ["."], stopTokenIds: [5], logitBias: new Map([[3, -100]]) }));
  expect(server.sent("/v1/completions")[0]).toMatchObject({
    model: "tiny",
    prompt: [300, 310],
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    logit_bias: { 3: -100 },
    seed: 7,
    stop: ["."],
    stop_token_ids: [5, eos, 1014],
    logprobs: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    stream: true,
  });
  await provider.sampler.generate(ask({ ignoreEos: true, stopTokenIds: [5] }));
  expect(server.sent("/v1/completions")[1]).toMatchObject({ ignore_eos: true, stop_token_ids: [5] });
});

test.for([
  [eos, [], null],
  [eos, [eos], eos],
  [42, [42], 42],
  [".", [], "."],
] as const)(
  "stop reason %s with the stop tokens %j is reported as %s",
  async ([reported, stopTokenIds, stopReason]) => {
    server.finish = { finish_reason: "stop", stop_reason: reported };
    const { completions } = await provider.sampler.generate(ask({ stopTokenIds: [...stopTokenIds] }));
    expect(completions[0]?.stopReason).toBe(stopReason);
  },
);

test("completions of one prompt are told apart by their index, in a stream as well", async () => {
  server.script = [[yes, end], [{ ...yes, id: 304, text: " no" }], [end]];
  server.finish = { finish_reason: "length", stop_reason: null };
  const { completions } = await provider.sampler.generate(ask({ n: 3 }));
  expect(completions.map(({ text, tokens, finishReason }) => [text, tokens.length, finishReason])).toEqual([
    [" yes", 2, "length"],
    [" no", 1, "length"],
    ["", 1, "length"],
  ]);
});

test("log-probabilities of the prompt begin with the prompt's own token", async () => {
  const { promptLogprobs } = await provider.sampler.generate(ask({ promptLogprobs: 1 }));
  expect(promptLogprobs).toEqual([
    null,
    [
      { token: 310, logprob: -3, rank: 3 },
      { token: 900, logprob: -0.5, rank: 1 },
    ],
  ]);
  expect(server.sent("/v1/completions")[0]).not.toHaveProperty("stream");
});

test("fields that vLLM cannot honour are refused by name, all at once", async () => {
  const request = ask({ badWords: [Int32Array.of(1)], priority: 3 });
  expect(provider.sampler.unsupportedFields(request)).toEqual(["badWords", "priority"]);
  await expect(provider.sampler.generate(request)).rejects.toMatchObject({
    code: "unsupported",
    message: "the inference server does not support: badWords, priority",
  });
  expect(server.requests).toEqual([]);
});

test.for([
  [
    { type: "json_schema", schema: { type: "integer" }, whitespace: false },
    { json: { type: "integer" }, disable_any_whitespace: true },
  ],
  [{ type: "json_object" }, { json_object: true }],
  [{ type: "regex", regex: "a+" }, { regex: "a+" }],
  [{ type: "choice", choices: ["a", "b"] }, { choice: ["a", "b"] }],
  [{ type: "grammar", grammar: 'root ::= "a"' }, { grammar: 'root ::= "a"' }],
] as const)("structured output %j is sent in vLLM's form", async ([structuredOutput, expected]) => {
  await provider.sampler.generate(ask({ structuredOutput: structuredOutput as GenerateRequest["structuredOutput"] }));
  expect(server.sent("/v1/completions")[0]?.["structured_outputs"]).toEqual(expected);
});

test("each checkpoint is loaded once, under a name of its own, and two are served together", async () => {
  const [one, two] = [await checkpoint("one", 1), await checkpoint("two", 2)];
  const weights = (path: string): WeightsRef => ({ baseModel: "starter", checkpoint: path });
  await provider.sampler.preload(weights(one));
  // It says whose program it is first.
  expect(server.requests.map(({ path }) => path)).toEqual(["/v1/models", "/v1/load_lora_adapter"]);
  const results = await Promise.all(
    [one, two, one, two].map((path) => provider.sampler.generate(ask({ weights: weights(path) }))),
  );
  expect(results.map(({ weightsId }) => weightsId)).toEqual([one, two, one, two]);
  expect(new Set(server.sent("/v1/completions").map(({ model }) => model)).size).toBe(2);
  expect(server.sent("/v1/load_lora_adapter").map(({ lora_path }) => lora_path)).toEqual([one, two]);
  await provider.sampler.unload(weights(one));
  expect([...server.adapters.values()]).toEqual([two]);
  await provider.sampler.unload(weights(one));
  await provider.sampler.generate(ask({ weights: weights(one) }));
  expect(server.adapters.size).toBe(2);
});

test("a copy of a checkpoint, and one that is still loaded from before a restart, have the same name", async () => {
  const one = await checkpoint("one");
  await provider.sampler.generate(ask({ weights: { baseModel: "starter", checkpoint: one } }));
  await cp(one, join(directory, "copy"), { recursive: true });
  const restarted = open();
  await restarted.sampler.generate(ask({ weights: { baseModel: "starter", checkpoint: join(directory, "copy") } }));
  expect(adapterOf(1)).toBe(adapterOf(0));
  expect(adapterOf(0)).toMatch(/^heddle-[0-9a-f]{32}$/u);
});

test("an adapter that the server has lost is loaded again", async () => {
  const one = await checkpoint("one");
  const request = ask({ weights: { baseModel: "starter", checkpoint: one } });
  await provider.sampler.generate(request);
  server.adapters.clear();
  await provider.sampler.generate(request);
  expect(server.sent("/v1/load_lora_adapter")).toHaveLength(2);
});

test("the least recently used adapters are unloaded beyond the limit, and none that is in use", async () => {
  provider = open({ maxLoadedAdapters: 1 });
  const paths = [await checkpoint("one", 1), await checkpoint("two", 2), await checkpoint("three", 3)];
  for (const path of paths)
    await provider.sampler.generate(ask({ weights: { baseModel: "starter", checkpoint: path } }));
  await vi.waitFor(() => expect([...server.adapters.values()]).toEqual([paths[2]]));
});

test("an adapter in use is unloaded after its last request", async () => {
  const one = await checkpoint("one");
  const weights = { baseModel: "starter", checkpoint: one };
  let release = () => {};
  server.hold = new Promise((resolve) => (release = resolve));
  const running = provider.sampler.generate(ask({ weights }));
  await vi.waitFor(() => expect(server.sent("/v1/completions")).toHaveLength(1));
  const unloading = provider.sampler.unload(weights);
  expect(server.adapters.size).toBe(1);
  release();
  await running;
  await unloading;
  expect(server.adapters.size).toBe(0);
});

test("the server may see the checkpoints at another path", async () => {
  provider = open({ serverPath: (path) => path.replace(directory, "/mnt/heddle") });
  const one = await checkpoint("one");
  const generating = provider.sampler.generate(ask({ weights: { baseModel: "starter", checkpoint: one } }));
  await expect(generating).rejects.toMatchObject({
    code: "not_found",
    loc: ["weights", "checkpoint"],
    message: expect.stringContaining("does not find the checkpoint"),
  });
  expect(server.sent("/v1/load_lora_adapter")[0]?.["lora_path"]).toBe("/mnt/heddle/one");
});

test("what cannot be loaded is refused with the remedy", async () => {
  const full = join(directory, "full");
  await mkdir(full);
  const state = { format: 2, base_model: "starter", base_digest: "b", training: "full", steps: 1, seed: 1, files: {} };
  await writeFile(join(full, "training_state.json"), JSON.stringify(state));
  const load = (weights: WeightsRef) => provider.sampler.preload(weights);
  await expect(load({ baseModel: "starter", checkpoint: full })).rejects.toMatchObject({ code: "unsupported" });
  await expect(load({ baseModel: "other" })).rejects.toMatchObject({ code: "not_found" });
  const one = await checkpoint("one");
  const replaced = { baseModel: "starter", checkpoint: one, digest: "0".repeat(64) };
  await expect(load(replaced)).rejects.toMatchObject({ code: "conflict" });
  server.loadsAdapters = false;
  const two = await checkpoint("two", 2);
  await expect(load({ baseModel: "starter", checkpoint: two })).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
  });
});

test("an abort ends the request on the server", async () => {
  server.hold = new Promise(() => {});
  const stop = new AbortController();
  const generating = provider.sampler.generate(ask(), { signal: stop.signal, onChunk: () => stop.abort() });
  await expect(generating).rejects.toMatchObject({ code: "aborted" });
  await vi.waitFor(() => expect(server.aborted).toBe(1));
});

test("a request that the server has not begun is sent again, one that it has begun is not", async () => {
  server.fault = failing("/v1/completions", { status: 503, headers: { "retry-after": "0" } }, { status: 429 });
  await provider.sampler.generate(ask());
  expect(server.sent("/v1/completions")).toHaveLength(3);
  server.fault = failing("/v1/completions", { cutAfterEvents: 1 });
  await expect(provider.sampler.generate(ask())).rejects.toMatchObject({ code: "failed" });
  server.fault = failing("/v1/completions", { cutAfterEvents: 0 });
  await expect(provider.sampler.generate(ask())).rejects.toMatchObject({ code: "busy" });
  expect(server.sent("/v1/completions")).toHaveLength(5);
});

test.for<[VllmFault, string, string]>([
  [
    {
      status: 400,
      body: {
        error: { message: "max_tokens is too large (parameter=max_tokens)", type: "BadRequestError", code: 400 },
      },
    },
    "invalid",
    "max_tokens is too large",
  ],
  [
    { status: 404, body: { error: { message: "The model `tiny` does not exist.", code: 404 } } },
    "not_found",
    "does not exist",
  ],
  [{ status: 401, body: { error: "Unauthorized" } }, "denied", "Unauthorized"],
  [{ status: 500, body: { error: { message: "engine died", code: 500 } } }, "failed", "engine died"],
])("an error of the server is reported with its reason: %j", async ([fault, code, reason]) => {
  server.fault = ({ path }) => (path === "/v1/completions" ? fault : undefined);
  await expect(provider.sampler.generate(ask())).rejects.toMatchObject({
    code,
    message: expect.stringContaining(reason),
  });
});

test("tokens without log-probabilities are an error, not zeros", async () => {
  server.fault = failing("/v1/completions", {
    status: 200,
    body: { model: "tiny", choices: [{ index: 0, text: "a", token_ids: [1], logprobs: null, finish_reason: "stop" }] },
  });
  await expect(provider.sampler.generate(ask({ promptLogprobs: 0 }))).rejects.toMatchObject({
    code: "failed",
    message: "the inference server returned no log-probability for each token",
  });
});

test("a model whose directory cannot be read is reported, and does not hide the others", async () => {
  const models = [
    { name: "broken", directory: join(directory, "missing"), inference: { model: "tiny" } },
    { name: "starter", directory: starter, inference: { model: "tiny" } },
  ];
  provider = open({ models });
  const capabilities = await provider.capabilities();
  expect(capabilities.models.map(({ name }) => name)).toEqual(["starter"]);
  expect(capabilities.unavailableModels).toEqual([{ name: "broken", reason: "there is no config.json" }]);
});

test("the server is healthy when it serves the configured models", async () => {
  provider = open({ apiKey: "secret" });
  expect(await provider.health()).toEqual({ ok: true });
  expect(server.requests[0]?.headers.authorization).toBe("Bearer secret");
  const other = open({ models: [{ name: "starter", directory: starter, inference: { model: "large" } }] });
  expect(await other.health()).toEqual({ ok: false, detail: "the inference server does not serve large" });
  const { models } = await provider.capabilities();
  expect(models).toMatchObject([
    { name: "starter", vocabularySize: 1024, sampling: { contextLength: 1024, fullWeights: false } },
  ]);
});
