import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { createRl, eventsOf, newModel } from "./jobs.js";
import { group } from "./trajectories.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

const get = async (path: string, { key = service.owner_key, signal }: { key?: string; signal?: AbortSignal } = {}) =>
  await service.fetch(`http://in-process/v1/preview/models/${path}`, {
    headers: { authorization: `Bearer ${key}` },
    ...(signal && { signal }),
  });

/** Names and sizes of the files of a tar archive. */
function listed(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; archive[at] !== 0;) {
    const name = archive.toString("latin1", at, at + 100).replace(/\0.*$/su, "");
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 135), 8);
    files.set(name, archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

test("a step is exported as a directory of merged weights, whose size is known before", async () => {
  const client = service.training();
  const model = await newModel(client);
  const settings = { model_id: model.id, trajectory_groups: [group()], experimental_config: { learning_rate: 0.01 } };
  await eventsOf(service, (await createRl(client, settings)).id);
  const weightsOf = async (step: number) => {
    const response = await get(`${model.id}/checkpoints/${step}/export?format=huggingface&dtype=float32`);
    expect(response.status).toBe(200);
    const archive = Buffer.from(await response.arrayBuffer());
    expect(archive.length).toBe(Number(response.headers.get("content-length")));
    const files = listed(archive);
    expect([...files.keys()]).toEqual(expect.arrayContaining(["config.json", "tokenizer.json", "model.safetensors"]));
    return files.get("model.safetensors");
  };
  const [untrained, trained] = [await weightsOf(0), await weightsOf(1)];
  expect(trained?.length).toBe(untrained?.length);
  expect(trained).not.toEqual(untrained);
  expect(await weightsOf(1)).toEqual(trained);
}, 60_000);

test("what cannot be exported is refused with the reason", async () => {
  const client = service.training();
  const model = await newModel(client, newProject("rival"));
  const statusOf = async (path: string, key?: string) => (await get(path, key === undefined ? {} : { key })).status;
  const refused = await get(`${model.id}/checkpoints/0/export?format=gguf`);
  expect([refused.status, await refused.json()]).toMatchObject([
    422,
    { detail: [{ loc: ["query", "format"], msg: expect.stringContaining("which llama.cpp has no name for") }] },
  ]);
  expect(await statusOf(`${model.id}/checkpoints/0/export?format=onnx`)).toBe(422);
  expect(await statusOf(`${model.id}/checkpoints/0/export`)).toBe(422);
  expect(await statusOf(`${model.id}/checkpoints/0/export?format=gguf&dtype=int4`)).toBe(422);
  expect(await statusOf(`${model.id}/checkpoints/7/export?format=huggingface`)).toBe(404);
  const stranger = await service.key({ entity: "acme" });
  expect(await statusOf(`${model.id}/checkpoints/0/export?format=huggingface`, stranger)).toBe(404);
});

test("a client that leaves gives its place to the next", async () => {
  const client = service.training();
  const model = await newModel(client);
  const path = `${model.id}/checkpoints/0/export?format=huggingface`;
  for (let round = 0; round < 6; round++) {
    const response = await get(path);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  }
  const whole = await get(path);
  expect((await whole.arrayBuffer()).byteLength).toBe(Number(whole.headers.get("content-length")));
}, 60_000);
