import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

/* A directory of a model that cannot be loaded is listed with the reason, wherever its name may be looked for. */

let service: TestService;
let modelsDir: string;
const engine = fileURLToPath(new URL("../../../embedded-engine/", import.meta.url));
const starter = "models/starter";
const fixture = (name: string) => `fixtures/models/${name}`;

/** Directories by name: what they are copies of, what is changed in them, and why they cannot be used. */
const broken: Record<string, { from: string; change: (directory: string) => void; reason: RegExp }> = {
  odd: {
    from: starter,
    change: edited({ model_type: "mamba9", architectures: ["Mamba9ForCausalLM"] }),
    reason: /architectures is \["Mamba9ForCausalLM"\]; the engine computes LlamaForCausalLM, /,
  },
  wider: {
    from: starter,
    change: edited({ intermediate_size: 1000 }),
    reason: /mlp\.gate_proj\.weight" has the shape \[\d+,\d+\].* requires \[1000,\d+\]/,
  },
  deeper: { from: starter, change: edited({ num_hidden_layers: 9 }), reason: /layers\.\d+\..* is missing/ },
  shallower: {
    from: starter,
    change: edited({ num_hidden_layers: 1 }),
    reason: /layers\.1\..* is not part of this model/,
  },
  shard: {
    from: fixture("qwen3-sharded-bf16"),
    change: (directory) => rmSync(join(directory, "model-00002-of-00004.safetensors")),
    reason: /model-00002-of-00004\.safetensors/,
  },
  expert: {
    from: fixture("qwen3-next"),
    change: without("model.layers.1.mlp.experts.3.down_proj.weight"),
    reason: /experts\.3\.down_proj\.weight" is missing/,
  },
  "shared-expert": {
    from: fixture("qwen3-next"),
    change: without("model.layers.0.mlp.shared_expert_gate.weight"),
    reason: /shared_expert_gate\.weight" is missing/,
  },
  experts: {
    from: fixture("qwen3-moe"),
    change: edited({ num_local_experts: 6 }),
    reason: /mlp\.gate\.weight" has the shape \[5,32\]/,
  },
  adapter: { from: "fixtures/adapters/qwen3-tied-lora", change: () => undefined, reason: /is an adapter/ },
  empty: { from: starter, change: emptied, reason: /model\.safetensors/ },
  cut: {
    from: starter,
    change: (directory) => {
      const path = join(directory, "model.safetensors");
      writeFileSync(path, readFileSync(path).subarray(0, 5000));
    },
    reason: /model\.safetensors/,
  },
  text: {
    from: starter,
    change: (directory) => writeFileSync(join(directory, "config.json"), "<html>not found</html>"),
    reason: /config\.json/,
  },
  mute: {
    from: starter,
    change: (directory) => rmSync(join(directory, "tokenizer.json")),
    reason: /tokenizer\.json/,
  },
};
const unavailable = Object.entries(broken)
  .map(([name, { reason }]) => ({ id: `dir:${name}`, reason: expect.stringMatching(reason) as string }))
  .toSorted((a, b) => (a.id < b.id ? -1 : 1));

function edited(change: object): (directory: string) => void {
  return (directory) => {
    const path = join(directory, "config.json");
    const config: object = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...config, ...change }));
  };
}

/** Gives a tensor another name: without it the file would have a gap. */
function without(tensor: string): (directory: string) => void {
  return (directory) => {
    const path = join(directory, "model.safetensors");
    const bytes = readFileSync(path);
    const end = 8 + Number(bytes.readBigUInt64LE(0));
    const header: Record<string, unknown> = JSON.parse(bytes.toString("utf8", 8, end));
    header["other"] = header[tensor];
    delete header[tensor];
    bytes.fill(" ", 8, end).write(JSON.stringify(header), 8);
    writeFileSync(path, bytes);
  };
}

function emptied(directory: string): void {
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
}

beforeAll(async () => {
  modelsDir = mkdtempSync(join(tmpdir(), "heddle-models-"));
  for (const [name, { from, change }] of Object.entries(broken)) {
    const directory = join(modelsDir, name);
    cpSync(join(engine, from), directory, { recursive: true });
    change(directory);
  }
  service = await openTestService({ HEDDLE_MODELS_DIR: modelsDir });
});
afterAll(async () => {
  await service.close();
  rmSync(modelsDir, { recursive: true });
});

const get = async (path: string, key?: string) => {
  const headers = new Headers(key === undefined ? {} : { authorization: `Bearer ${key}` });
  const response = await service.fetch(`http://in-process${path}`, { headers });
  return (await response.json()) as Record<string, unknown>;
};
const byName = (models: unknown) => (models as { id: string }[]).toSorted((a, b) => (a.id < b.id ? -1 : 1)) as unknown;

test("lists and the system check name each with its reason, the latter for callers with a key", async () => {
  const base = await get("/v1/preview/base-models", service.owner_key);
  expect(byName(base["unavailable"])).toEqual(unavailable);
  expect(JSON.stringify(base["data"])).not.toContain("dir:");
  const served = await get("/v1/models", service.owner_key);
  expect(byName(served["unavailable"])).toEqual(unavailable);
  expect(JSON.stringify(served["data"])).not.toContain("dir:");
  const check = await get("/v1/system-check", service.owner_key);
  expect(byName(check["unavailable_models"])).toEqual(unavailable);
  expect(await get("/v1/system-check")).toMatchObject({ unavailable_models: [] });
});

test.each(Object.entries(broken))("a completion of %s is 404 with the reason", async (name, { reason }) => {
  const request = { model: `dir:${name}`, messages: [{ role: "user" as const, content: "hi" }] };
  await expect(service.training().createChatCompletion(request)).rejects.toMatchObject({
    status: 404,
    message: expect.stringMatching(reason) as string,
  });
});

test.each(Object.entries(broken))(
  "a model that is to be trained from %s is refused with the reason",
  async (name, { reason }) => {
    const [entity = "", project = ""] = newProject().split("/");
    const created = service.training().createModel({ entity, project, name: "m", base_model: `dir:${name}` });
    await expect(created).rejects.toMatchObject({ status: 422, message: expect.stringMatching(reason) as string });
  },
);
