import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { json, png, startUpstream, writeProviders } from "../upstream.js";
import type { Route } from "../upstream.js";

const key = "sk-very-secret-key";
const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.from("a photo")]);

let service: TestService;
let directory: string;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let storage: Awaited<ReturnType<typeof startUpstream>>;
let elsewhere: Awaited<ReturnType<typeof startUpstream>>;

beforeAll(async () => {
  const sendJpeg: Route = (response) => response.end(jpeg);
  storage = await startUpstream({ "GET /a.jpg": sendJpeg });
  elsewhere = await startUpstream({ "GET /a.jpg": sendJpeg });
  upstream = await startUpstream({});
  directory = mkdtempSync(join(tmpdir(), "heddle-images-"));
  const provider = { baseUrl: `${upstream.url}/v1`, allowPrivate: true, kinds: ["images"] };
  const file = writeProviders(directory, {
    lists: { ...provider, kinds: ["hardware"], models: ["*"] },
    openai: {
      ...provider,
      apiKey: key,
      models: ["gpt-image-1", "dall-e-*"],
      downloadOrigins: [storage.url],
      imageParameters: { quality: "low" },
      timeoutSeconds: 0.5,
    },
    keyless: { ...provider, apiKeyEnv: "HEDDLE_TEST_NO_SUCH_KEY", models: ["keyless-1"] },
    inward: {
      ...provider,
      baseUrl: upstream.url.replace("http:", "https:"),
      allowPrivate: false,
      models: ["inward-1"],
    },
  });
  service = await openTestService({ HEDDLE_PROVIDERS: file });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
  await storage.close();
  await elsewhere.close();
  rmSync(directory, { recursive: true, force: true });
});

interface ContentObject {
  _type: string;
  files: Record<"content" | "metadata.json", string>;
}
interface ImageResponse {
  data: Record<string, unknown>[];
  error?: string;
}

/** Sends a request to which the provider responds by `route`. */
async function create(route: Route, request: { model?: string; n?: number; track_llm_call?: boolean } = {}) {
  upstream.routes["POST /v1/images/generations"] = route;
  upstream.received.length = 0;
  const { model = "gpt-image-1", n, track_llm_call } = request;
  const projectId = newProject();
  const inputs = { model, prompt: "a loom", ...(n !== undefined && { n }) };
  const { response, weave_call_id } = await service
    .tracing()
    .imageCreate({ project_id: projectId, inputs, track_llm_call });
  return { project_id: projectId, response: response as unknown as ImageResponse, weave_call_id };
}

async function fileOf(projectId: string, digest: string): Promise<Buffer> {
  const content = await service.tracing().fileContent({ project_id: projectId, digest });
  return Buffer.from(await new Response(content).arrayBuffer());
}

const callOf = async (projectId: string, id: string | null | undefined) =>
  (await service.tracing().callRead({ project_id: projectId, id: id ?? "" })).call;

test("an image is stored as a file, and the request is recorded with its usage", async () => {
  const usage = { input_tokens: 6, output_tokens: 272, total_tokens: 278 };
  const data = [{ b64_json: png.toString("base64"), revised_prompt: "a wooden loom" }];
  const { project_id, response, weave_call_id } = await create({ created: 1, data, usage }, { n: 1 });

  const [sent] = upstream.received;
  expect(JSON.parse(sent?.body ?? "")).toEqual({ model: "gpt-image-1", prompt: "a loom", n: 1, quality: "low" });
  expect(sent?.headers.authorization).toBe(`Bearer ${key}`);

  expect(response).toMatchObject({
    created: 1,
    usage,
    model: "gpt-image-1",
    data: [{ revised_prompt: "a wooden loom" }],
  });
  const content = response.data[0]?.["b64_json"] as ContentObject;
  expect(content).toMatchObject({
    _type: "CustomWeaveType",
    weave_type: { type: "weave.type_wrappers.Content.content.Content" },
  });
  expect(await fileOf(project_id, content.files.content)).toEqual(png);
  const metadata = JSON.parse((await fileOf(project_id, content.files["metadata.json"])).toString()) as object;
  expect(metadata).toMatchObject({
    mimetype: "image/png",
    size: png.length,
    filename: "image-0.png",
    extension: ".png",
  });

  const call = await callOf(project_id, weave_call_id);
  expect(call).toMatchObject({
    op_name: "weave.image_generation_create",
    inputs: { model: "gpt-image-1", prompt: "a loom", n: 1 },
    output: response,
    exception: null,
    summary: { usage: { "gpt-image-1": { ...usage, requests: 1 } }, weave: { status: "success" } },
  });
  expect(call?.wb_user_id).toEqual(expect.any(String));
});

test("an image behind a URL is fetched from a configured origin, without the key", async () => {
  const { project_id, response } = await create({ data: [{ url: `${storage.url}/a.jpg` }] }, { model: "dall-e-3" });
  const content = response.data[0]?.["url"] as ContentObject;
  expect(await fileOf(project_id, content.files.content)).toEqual(jpeg);
  expect(storage.received.at(-1)?.headers.authorization).toBeUndefined();
});

test("a request that is not to be recorded is not", async () => {
  const data = [{ b64_json: png.toString("base64") }];
  const { project_id, weave_call_id } = await create({ data }, { track_llm_call: false });
  expect(weave_call_id).toBeNull();
  expect(await service.tracing().callsQueryStats({ project_id })).toMatchObject({ count: 0 });
});

test("the name of the provider may stand before the name of the model", async () => {
  const { response } = await create({ data: [] }, { model: "openai/any-model" });
  expect(JSON.parse(upstream.received[0]?.body ?? "")).toMatchObject({ model: "any-model" });
  expect(response).toMatchObject({ model: "openai/any-model" });
});

describe("an error of the provider is a response, and the call is recorded as failed", () => {
  const refuse =
    (status: number, body: unknown): Route =>
    (response) =>
      json(response, body, status);
  test.each<[string, Route, RegExp]>([
    ["refused", refuse(400, { error: { message: "unsafe prompt" } }), /^openai: status 400: unsafe prompt$/],
    ["key echoed", refuse(401, { error: { message: `bad key ${key}` } }), /^openai: status 401: bad key \*\*\*$/],
    ["overloaded", refuse(503, "<html>"), /^openai: status 503: <html>$/],
    ["no JSON", (response) => response.end("<html>"), /not a JSON object/],
    ["nested too deeply", (response) => response.end(`{"data":${"[".repeat(5000)}${"]".repeat(5000)}}`), /not a JSON/],
    ["no list", { created: 1 }, /no list "data"/],
    ["too many images", { data: Array.from({ length: 11 }, () => ({})) }, /more than 10 images/],
    ["too much else", { data: [], more: "x".repeat(2_000_000) }, /besides its images/],
    ["slow", () => {}, /did not respond within 0.5 s/],
    ["broken off", (response) => response.destroy(), /connection/],
    ["redirected", (response) => response.writeHead(307, { location: "http://169.254.169.254/" }).end(), /redirects/],
  ])("%s", async (_name, route, message) => {
    const { project_id, response, weave_call_id } = await create(route);
    expect(response).toEqual({ error: expect.stringMatching(message) as string });
    expect(JSON.stringify(response)).not.toContain(key);
    const call = await callOf(project_id, weave_call_id);
    expect(call).toMatchObject({
      exception: response.error,
      output: response,
      summary: { weave: { status: "error" } },
    });
  });

  test("an address that is not public", async () => {
    const { response } = await create({ data: [] }, { model: "inward-1" });
    expect(response.error).toBe("inward: 127.0.0.1 has an address that is not public, and allowPrivate is not set");
    expect(upstream.received).toEqual([]);
  });
});

describe("an image that cannot be stored leaves the others", () => {
  test.each<[string, () => object, RegExp]>([
    ["no image", () => ({ b64_json: Buffer.from("<svg>").toString("base64") }), /image 1: it is not a PNG, JPEG/],
    ["nothing", () => ({}), /image 1: it has neither b64_json nor a url/],
    ["another origin", () => ({ url: `${elsewhere.url}/a.jpg` }), /not among the configured origins/],
    ["metadata service", () => ({ url: "http://169.254.169.254/a.png" }), /not among the configured origins/],
    ["a local file", () => ({ url: "file:///etc/passwd" }), /not among the configured origins/],
    ["not there", () => ({ url: `${storage.url}/b.jpg` }), /its download ended with status 404/],
  ])("%s", async (_name, item, message) => {
    const data = [{ b64_json: png.toString("base64") }, item()];
    const { response } = await create({ data });
    expect(response.error).toMatch(message);
    expect(response.data[0]?.["b64_json"]).toMatchObject({ _type: "CustomWeaveType" });
    expect(response.data[1]).not.toHaveProperty("b64_json");
    expect(elsewhere.received).toEqual([]);
  });
});

describe("what is not configured is an error that names the setting", () => {
  async function refused(model: string) {
    const url = "http://in-process/image/create";
    const body = JSON.stringify({ project_id: newProject(), inputs: { model, prompt: "p" } });
    const headers = { authorization: `Bearer ${service.owner_key}` };
    const response = await service.fetch(new Request(url, { method: "POST", body, headers }));
    return [response.status, await response.json()] as const;
  }

  test("no provider has the model", async () => {
    const [status, problem] = await refused("unknown-model");
    expect(status).toBe(400);
    expect(problem).toEqual({ reason: expect.stringMatching(/^body.inputs.model: .*HEDDLE_PROVIDERS/) as string });
  });

  test("the key is missing", async () => {
    const [status, problem] = await refused("keyless-1");
    expect(status).toBe(400);
    expect(problem).toEqual({
      reason: expect.stringMatching(/the provider keyless has no API key: set HEDDLE_TEST_NO_SUCH_KEY/) as string,
      api_key: "HEDDLE_TEST_NO_SUCH_KEY",
    });
  });
});

test("nothing of it was unexpected", () => expect(service.unexpected).toEqual([]));
