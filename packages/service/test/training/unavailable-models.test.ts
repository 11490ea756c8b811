import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

/* A directory of a model that cannot be loaded is listed with the reason, wherever its name may be looked for. */

let service: TestService;
let modelsDir: string;
const name = "dir:odd";
const starter = fileURLToPath(new URL("../../../embedded-engine/models/starter/", import.meta.url));

beforeAll(async () => {
  modelsDir = mkdtempSync(join(tmpdir(), "heddle-models-"));
  const directory = join(modelsDir, "odd");
  cpSync(starter, directory, { recursive: true });
  const config: object = JSON.parse(readFileSync(join(directory, "config.json"), "utf8"));
  writeFileSync(
    join(directory, "config.json"),
    JSON.stringify({ ...config, model_type: "mamba9", architectures: ["Mamba9ForCausalLM"] }),
  );
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

test("lists and the system check name it with the reason, the latter for callers with a key", async () => {
  const unavailable = [{ id: name, reason: expect.stringMatching(/mamba9/i) as string }];
  const base = await get("/v1/preview/base-models", service.owner_key);
  expect(base).toMatchObject({ unavailable });
  expect(JSON.stringify(base["data"])).not.toContain(name);
  const served = await get("/v1/models", service.owner_key);
  expect(served).toMatchObject({ unavailable });
  expect(JSON.stringify(served["data"])).not.toContain(name);
  expect(await get("/v1/system-check", service.owner_key)).toMatchObject({ unavailable_models: unavailable });
  expect(await get("/v1/system-check")).toMatchObject({ unavailable_models: [] });
});

test("a completion of it is 404 with the reason", async () => {
  const request = { model: name, messages: [{ role: "user" as const, content: "hi" }] };
  await expect(service.training().createChatCompletion(request)).rejects.toMatchObject({
    status: 404,
    message: expect.stringMatching(/mamba9/i) as string,
  });
});

test("a model that is to be trained from it is refused with the reason", async () => {
  const [entity = "", project = ""] = newProject().split("/");
  const created = service.training().createModel({ entity, project, name: "m", base_model: name });
  await expect(created).rejects.toMatchObject({ status: 422, message: expect.stringMatching(/mamba9/i) as string });
});
