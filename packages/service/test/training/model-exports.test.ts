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

/** The tensors of a safetensors file in 32 bit. */
function tensorsIn(file: Buffer): Map<string, { shape: number[]; values: Float32Array }> {
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, start)) as Record<
    string,
    { shape: number[]; data_offsets: [number, number] }
  >;
  const { __metadata__: _, ...entries } = header;
  return new Map(
    Object.entries(entries).map(
      ([
        name,
        {
          shape,
          data_offsets: [from, to],
        },
      ]) => [
        name,
        { shape, values: new Float32Array(Uint8Array.from(file.subarray(start + from, start + to)).buffer) },
      ],
    ),
  );
}

test("an adapter with a rank, a scale and projections of its own is merged as it says, and leaves the others", async () => {
  const client = service.training();
  const [entity = "", project = ""] = newProject().split("/");
  const lora = { rank: 3, alpha: 12, target_modules: ["v_proj" as const, "down_proj" as const] };
  const model = await client.createModel({ entity, project, name: "own", base_model: "random:tiny", lora });
  const settings = { model_id: model.id, trajectory_groups: [group()], experimental_config: { learning_rate: 0.01 } };
  await eventsOf(service, (await createRl(client, settings)).id);
  const merged = async (step: number) => {
    const archive = await get(`${model.id}/checkpoints/${step}/export?format=huggingface&dtype=float32`);
    return tensorsIn(listed(Buffer.from(await archive.arrayBuffer())).get("model.safetensors")!);
  };
  const versions = `http://in-process/v1/artifacts/${entity}/${project}/own/versions/step1`;
  const headers = { authorization: `Bearer ${service.owner_key}` };
  const stored = await service.fetch(`${versions}/file?path=adapter_model.safetensors`, { headers });
  const adapter = tensorsIn(Buffer.from(await stored.arrayBuffer()));
  const [before, after] = [await merged(0), await merged(1)];
  let adapted = 0;
  for (const [name, { shape, values }] of after) {
    const base = before.get(name)!.values;
    const factor = (letter: string) =>
      adapter.get(`base_model.model.${name.replace(/weight$/, `lora_${letter}.weight`)}`);
    const [a, b] = [factor("A"), factor("B")];
    if (!a || !b) {
      expect(values, name).toEqual(base);
      continue;
    }
    adapted++;
    const [outputs = 0, inputs = 0] = shape;
    const at = (row: number, column: number) =>
      [0, 1, 2].reduce((sum, r) => sum + b.values[row * 3 + r]! * a.values[r * inputs + column]!, 0);
    const expected = base.map((value, i) => value + (12 / 3) * at(Math.floor(i / inputs), i % inputs));
    const worst = values.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i]!)), 0);
    expect([outputs * inputs, worst < 1e-6], name).toEqual([values.length, true]);
    expect(values, name).not.toEqual(base);
  }
  expect(adapted).toBe(adapter.size / 2);
  expect(adapted).toBeGreaterThan(1);
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
