import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Objective } from "@heddle/training";
import { afterEach, expect, test, vi } from "vitest";
import type { Fault, SeenRequest, TinkerServerOptions } from "../../test/tinker-server.js";
import type { TinkerTrainers } from "../../test/tinker-trainers.js";
import { adam as withDecay, baseModel, openTrainers } from "../../test/tinker-trainers.js";

const adam = { ...withDecay, weightDecay: 0 };
const sequence = { tokens: Int32Array.of(1, 2, 3, 4), mask: Uint8Array.of(0, 1, 1, 1) };
const objective: Objective = { name: "cross_entropy", sequences: [sequence], normalizer: 3 };
const unknown = { code: "failed", details: { outcome: "unknown" } };

let opened: TinkerTrainers | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

async function openOne(options: TinkerServerOptions = {}) {
  opened = await openTrainers(options);
  const trainer = await opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
  return { ...opened, trainer };
}

/** Lets the first requests to a path fail, one per fault. */
function failing(path: string, ...faults: Fault[]): (request: SeenRequest) => Fault | undefined {
  return (request) => (request.path === path ? faults.shift() : undefined);
}

test.for<[string, Fault[]]>([
  ["the server ends a long poll", [{ status: 408, body: { detail: "Timeout waiting for result" } }]],
  ["the server asks to poll again", [{ status: 200, body: { type: "try_again", queue_state: "active" } }]],
  ["the server is overloaded", [{ status: 429, headers: { "retry-after": "0" } }, { status: 429 }]],
  ["a proxy fails", [{ status: 502, body: "bad gateway" }, { status: 500 }]],
  ["billing is paused", [{ status: 402 }]],
  ["the connection is cut", [{ cut: "before" }, { cut: "after" }]],
])("a result is retrieved after %s", async ([, faults]) => {
  const { trainer, server } = await openOne();
  server.fault = failing("retrieve_future", ...faults);
  const { loss } = await trainer.forwardBackward(objective);
  expect(loss).toBeCloseTo(Math.log(8), 6);
  expect(server.paths().filter((path) => path === "forward_backward")).toHaveLength(1);
});

test.for<[string, string, Fault]>([
  ["the connection is cut before the response", "forward_backward", { cut: "after" }],
  ["the request may not have arrived", "forward_backward", { cut: "before" }],
  ["the server fails with 500", "forward_backward", { status: 500, body: "Internal Server Error" }],
  ["the server no longer has the result", "retrieve_future", { status: 410 }],
  ["the work failed", "retrieve_future", { status: 400, body: { detail: "out of memory" } }],
  ["the hosted server reports an error", "retrieve_future", { status: 200, body: { error: "no", category: "server" } }],
])("nothing is sent twice when %s, and the trainer is not used again", async ([, path, fault]) => {
  const { trainer, server } = await openOne();
  server.fault = failing(path, fault);
  await expect(trainer.forwardBackward(objective)).rejects.toMatchObject(unknown);
  const sent = server.paths().length;
  await expect(trainer.optimStep(adam)).rejects.toMatchObject(unknown);
  await expect(trainer.logprobs([sequence])).rejects.toMatchObject(unknown);
  expect(server.paths()).toHaveLength(sent);
  expect(server.paths().filter((each) => each === "forward_backward")).toHaveLength(1);
  await trainer.close();
  expect(server.models.size).toBe(0);
});

test("an optimizer step of unknown outcome is done at most once", async () => {
  const { trainer, server } = await openOne();
  await trainer.forwardBackward(objective);
  server.fault = failing("optim_step", { cut: "after" });
  await expect(trainer.optimStep(adam)).rejects.toMatchObject(unknown);
  expect([...server.models.values()].map((model) => model.save().steps)).toEqual([1]);
  expect(server.paths().filter((path) => path === "optim_step")).toHaveLength(1);
});

test("a request that was not accepted is sent again, under the same number", async () => {
  const { trainer, server } = await openOne({ countsRequests: true });
  server.fault = failing("forward_backward", { status: 429, headers: { "retry-after": "0" } }, { status: 503 });
  await trainer.forwardBackward(objective);
  await trainer.optimStep(adam);
  const numbers = server.requests.flatMap(({ body: { seq_id } }) => (typeof seq_id === "number" ? [seq_id] : []));
  expect(numbers).toEqual([1, 1, 1, 2]);
});

test("after a rejected request, the trainer is usable and a counting server gets the next number", async () => {
  const { trainer, server } = await openOne({ countsRequests: true });
  const detail = [{ loc: ["body", "adam_params", "eps"], msg: "Input should be greater than 0", type: "greater_than" }];
  server.fault = failing("optim_step", { status: 422, body: { detail } });
  await trainer.forwardBackward(objective);
  await expect(trainer.optimStep({ ...adam, epsilon: 0 })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("body.adam_params.eps: Input should be greater than 0"),
  });
  expect(await trainer.optimStep(adam)).toMatchObject({ steps: 1 });
});

test("null instead of a number ends the trainer: the server's weights are not finite", async () => {
  const { trainer } = await openOne({ logprob: null });
  await expect(trainer.forwardBackward(objective)).rejects.toMatchObject({
    ...unknown,
    message: expect.stringContaining("returned null as a log-probability"),
  });
  await expect(trainer.optimStep(adam)).rejects.toMatchObject(unknown);
});

test("a gradient norm that is not finite ends the trainer", async () => {
  const { trainer, server } = await openOne();
  await trainer.forwardBackward(objective);
  let polls = 0;
  server.fault = ({ path }) =>
    path === "retrieve_future" && ++polls === 1
      ? { status: 200, body: { metrics: { "skyrl.ai/grad_norm": null } } }
      : undefined;
  await expect(trainer.optimStep(adam)).rejects.toMatchObject(unknown);
  await expect(trainer.saveState("/nowhere/state")).rejects.toMatchObject(unknown);
});

test("an aborted call that changes nothing leaves the trainer usable, another one does not", async () => {
  const { trainer, server } = await openOne();
  const stop = new AbortController();
  server.fault = ({ path }) => {
    if (path !== "retrieve_future") return undefined;
    stop.abort();
    return { status: 408 };
  };
  await expect(trainer.logprobs([sequence], stop.signal)).rejects.toMatchObject({ code: "aborted" });
  server.fault = () => undefined;
  await trainer.logprobs([sequence]);
  await expect(trainer.forwardBackward(objective, { signal: stop.signal })).rejects.toMatchObject({ code: "aborted" });
  await trainer.logprobs([sequence]);
  const later = new AbortController();
  server.fault = ({ path }) => {
    if (path !== "retrieve_future") return undefined;
    later.abort();
    return { status: 408 };
  };
  await expect(trainer.forwardBackward(objective, { signal: later.signal })).rejects.toMatchObject({ code: "aborted" });
  server.fault = () => undefined;
  await expect(trainer.optimStep(adam)).rejects.toMatchObject(unknown);
});

test("heartbeats keep the session, and a lost session ends the trainer", async () => {
  opened = await openTrainers({ client: { heartbeatMs: 5 } });
  const { provider, server } = opened;
  const trainer = await provider.openTrainer({ weights: { baseModel }, seed: 1 });
  const heartbeats = () => server.requests.filter(({ path }) => path === "session_heartbeat").length;
  // The first one is sent before the model is created: a server never expires a session without any.
  expect(server.requests.map(({ path }) => path).slice(1, 4)).toEqual([
    "create_session",
    "session_heartbeat",
    "create_model",
  ]);
  await vi.waitFor(() => expect(heartbeats()).toBeGreaterThan(2));
  server.sessions.clear();
  const before = heartbeats();
  await vi.waitFor(() => expect(heartbeats()).toBeGreaterThan(before + 1));
  await expect(trainer.forwardBackward(objective)).rejects.toMatchObject(unknown);
  await trainer.close();
  const closed = heartbeats();
  await trainer.close();
  expect(heartbeats()).toBe(closed);
});

test("a server without a free slot is busy", async () => {
  const { provider } = await openOne({ slots: 1 });
  await expect(provider.openTrainer({ weights: { baseModel }, seed: 1 })).rejects.toMatchObject({ code: "busy" });
});

test("a model that the server does not have is not trained, although the server would train another one", async () => {
  opened = await openTrainers({ model: { model: "other" } });
  const opens = opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await expect(opens).rejects.toMatchObject({
    code: "unsupported",
    message: "the training server does not have the model other; it has: /models/tiny",
  });
  expect(opened.server.paths()).toEqual(["get_server_capabilities"]);
});

test("an alpha that the server ignores is noticed, and the model is unloaded", async () => {
  opened = await openTrainers({ alpha: 16 });
  await expect(opened.provider.openTrainer({ weights: { baseModel }, seed: 1 })).rejects.toMatchObject({
    code: "unsupported",
    message: "the training server made an adapter with alpha 16; 32 is configured for the model",
  });
  expect(opened.server.models.size).toBe(0);
});

test("an adapter that the server would ignore or reject is refused with all its fields", async () => {
  opened = await openTrainers();
  const open = (adapter: { rank: number; alpha: number; targets: ("q" | "v")[] }) =>
    opened!.provider.openTrainer({ weights: { baseModel }, adapter, seed: 1 });
  await expect(open({ rank: 64, alpha: 16, targets: ["q", "v"] })).rejects.toMatchObject({
    code: "unsupported",
    loc: ["adapter"],
    message: expect.stringMatching(/rank must be from 1 to 8; alpha must be 32; targets must be q, k, v/u),
  });
  expect(opened.server.requests).toEqual([]);
});

test("a checkpoint of another engine or server cannot be resumed from, and the error says why", async () => {
  const { provider, trainer, directory } = await openOne();
  const open = (checkpoint: string) => provider.openTrainer({ weights: { baseModel, checkpoint }, seed: 1 });
  await expect(open(join(directory, "missing"))).rejects.toMatchObject({ code: "not_found" });
  const state = {
    format: 2,
    base_model: baseModel,
    base_digest: "d",
    training: "adapter",
    steps: 1,
    seed: 1,
    files: {},
  };
  const write = async (name: string, more: object) => {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, "training_state.json"), JSON.stringify({ ...state, ...more }));
    return join(directory, name);
  };
  const unsupported = (message: string) => ({ code: "unsupported", loc: ["weights", "checkpoint"], message });
  await expect(open(await write("embedded", {}))).rejects.toMatchObject(
    unsupported("the checkpoint was not trained on the training server, which cannot import weights"),
  );
  const remote = { server: "http://other:1", path: "tinker://m/weights/a", rank: 8 };
  await expect(open(await write("elsewhere", { remote }))).rejects.toMatchObject(
    unsupported("the checkpoint was trained on another training server, and this one cannot import weights"),
  );
  await expect(open(await write("other", { base_model: "large" }))).rejects.toMatchObject({ code: "invalid" });
  const exported = await trainer.exportWeights(join(directory, "exported"), { state: true });
  await expect(
    provider.openTrainer({ weights: { ...exported, digest: "0".repeat(64) }, seed: 1 }),
  ).rejects.toMatchObject({ code: "conflict", loc: ["weights", "digest"] });
});

test("a server that is down is reported by name, and by the first call", async () => {
  opened = await openTrainers();
  expect(await opened.provider.health()).toEqual({ ok: true });
  await opened.server.close();
  expect(await opened.provider.health()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^the training server: 127\.0\.0\.1:\d+ cannot be reached: it refuses connections$/u),
  });
  const opens = opened.provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await expect(opens).rejects.toMatchObject({ code: "busy" });
  opened = undefined;
});

test("a model whose directory cannot be read is reported, and cannot be trained", async () => {
  opened = await openTrainers();
  await rm(join(opened.directory, "config.json"));
  const unavailableModels = [{ name: baseModel, reason: "there is no config.json" }];
  expect(await opened.provider.capabilities()).toEqual({ models: [], unavailableModels });
  await expect(opened.provider.openTrainer({ weights: { baseModel }, seed: 1 })).rejects.toMatchObject({
    code: "unsupported",
    loc: ["weights", "baseModel"],
  });
});

test("the key is sent to the server, and a wrong one is an error of the configuration", async () => {
  opened = await openTrainers({ client: { apiKey: "tml-secret" } });
  const { server, provider } = opened;
  server.fault = ({ headers }) =>
    headers["x-api-key"] === "tml-secret" ? { status: 403, body: { detail: "no" } } : undefined;
  const opens = provider.openTrainer({ weights: { baseModel }, seed: 1 });
  await expect(opens).rejects.toMatchObject({ code: "denied" });
  server.fault = () => undefined;
});
