import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openInferenceLists } from "../../src/providers/inference-lists.js";
import type { ProviderKind } from "../../src/config/provider-settings.js";
import { openProviders } from "../../src/providers/providers.js";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { json, machine, model, startUpstream } from "../upstream.js";

let unconfigured: TestService;
let service: TestService;
let first: Awaited<ReturnType<typeof startUpstream>>;
let second: Awaited<ReturnType<typeof startUpstream>>;
beforeAll(async () => {
  unconfigured = await openTestService({ HEDDLE_PROVIDERS: "" });
  service = await openTestService();
  first = await startUpstream({});
  second = await startUpstream({});
});
afterAll(async () => {
  await unconfigured.close();
  await service.close();
  await first.close();
  await second.close();
});
beforeEach(() => {
  for (const { routes, received } of [first, second]) {
    received.length = 0;
    routes["GET /models"] = { data: [model] };
    routes["GET /hardware"] = { hardware: [machine] };
  }
});

const never = { freshMs: 0, staleMs: 60_000, retryMs: 0 };

/** The lists of the two servers, each time read again unless `times` says otherwise. */
function lists(times = never) {
  const provider = (name: string, baseUrl: string) => ({
    name,
    baseUrl,
    apiKey: "sk-1",
    missingKey: undefined,
    kinds: ["router-models", "hardware"] as ProviderKind[],
    models: [],
    allowPrivate: true,
    downloadOrigins: [],
    imageParameters: {},
    timeoutMs: 300,
  });
  return openInferenceLists(openProviders([provider("first", first.url), provider("second", second.url)]), times);
}

test("without a provider the lists are empty", async () => {
  const client = unconfigured.tracing();
  expect(await client.inferenceAnalysisVendoraModels()).toEqual({ data: [] });
  expect(await client.inferenceRouterVendorcModels()).toEqual({ data: [] });
  expect(await client.vendorbHardware({ model: "m" })).toEqual({ hardware: [] });
});

test("the lists of a provider are passed on", async () => {
  const client = service.tracing();
  expect(await client.inferenceAnalysisVendoraModels()).toEqual({ data: [model] });
  expect(await client.inferenceRouterVendorcModels()).toEqual({ data: [model] });
  expect(await client.vendorbHardware({ model: "qwen3-8b" })).toEqual({ hardware: [machine] });
  expect(service.unexpected).toEqual([]);
});

test("without a key, a list is what was read for others, and no provider is asked", async () => {
  const server = await startUpstream({ "GET /models": { data: [model] } });
  const provider = { baseUrl: server.url, allowPrivate: true, kinds: ["router-models", "analysis-models"] };
  const own = await openTestService({ HEDDLE_PROVIDERS: JSON.stringify({ own: provider }) });
  try {
    const read = async (path: string, headers: Record<string, string> = {}) =>
      await (await own.fetch(`http://in-process/inference/${path}`, { headers })).json();
    const [router, analysis] = ["router/vendorc/models", "analysis/vendora/models"];
    expect(await read(router)).toEqual({ data: [] });
    expect(await read(router, { authorization: "Bearer unknown" })).toEqual({ data: [] });
    expect(server.received).toEqual([]);
    expect(await read(router, { authorization: `Bearer ${own.owner_key}` })).toEqual({ data: [model] });
    expect(await read(router)).toEqual({ data: [model] });
    expect(await read(analysis)).toEqual({ data: [] });
    expect(server.received).toHaveLength(1);
  } finally {
    await own.close();
    await server.close();
  }
});

test("a list is read once while it is fresh, also by requests at the same time", async () => {
  const cached = lists({ ...never, freshMs: 60_000 });
  await Promise.all([cached.models("router-models"), cached.models("router-models")]);
  await cached.models("router-models");
  expect(first.received).toHaveLength(1);
  expect(first.received[0]?.headers.authorization).toBe("Bearer sk-1");
  await cached.hardware("a b");
  await cached.hardware("c");
  expect(first.received.map(({ path }) => path)).toEqual(["/models", "/hardware?model=a+b", "/hardware?model=c"]);
});

test("the lists of several providers are one, each id once, and only what is described is passed on", async () => {
  const { hugging_face_id: _, ...older } = { ...model, id: "b", secret_margin: 3 };
  first.routes["GET /models"] = { data: [{ ...model, id: "a" }, { ...model, id: "bad", quantization: "int3" }, null] };
  second.routes["GET /models"] = { data: [{ ...model, id: "a", name: "other" }, older] };
  const found = await lists().models("router-models");
  expect(found).toEqual([
    { ...model, id: "a" },
    { ...model, id: "b", hugging_face_id: "" },
  ]);
  expect(await lists().models("analysis-models")).toEqual([]);
});

test("a model that no provider knows has no hardware", async () => {
  for (const { routes } of [first, second]) routes["GET /hardware"] = (response) => json(response, {}, 404);
  expect(await lists().hardware("unknown")).toEqual([]);
});

describe("while a provider does not respond with a list, its last one is returned", () => {
  test.each([
    ["error", (response) => json(response, { error: "overloaded" }, 500)],
    ["no JSON", (response) => response.end("<html>")],
    ["no list", (response) => json(response, { models: [] })],
    ["no item of the form", (response) => json(response, { data: [{ id: "x" }] })],
    ["broken off", (response) => response.destroy()],
    ["slow", () => {}],
    ["redirected", (response) => response.writeHead(302, { location: `${second.url}/models` }).end()],
  ] as [string, (response: Parameters<typeof json>[0]) => void][])("%s", async (_name, route) => {
    const cached = lists();
    first.routes["GET /models"] = { data: [{ ...model, id: "kept" }] };
    second.routes["GET /models"] = { data: [] };
    expect(await cached.models("router-models")).toMatchObject([{ id: "kept" }]);
    first.routes["GET /models"] = route;
    expect(await cached.models("router-models")).toMatchObject([{ id: "kept" }]);
    // The other provider's list is there even for a service that never read the first one's.
    expect(await lists().models("router-models")).toEqual([]);
  });
});

test("it is an error when no provider has ever responded, and the next attempt waits", async () => {
  for (const { routes } of [first, second]) routes["GET /models"] = (response) => json(response, {}, 500);
  const cached = lists({ ...never, retryMs: 60_000 });
  for (const _ of [1, 2]) {
    await expect(cached.models("router-models")).rejects.toMatchObject({
      code: "busy",
      message: "The provider first does not respond with a list",
    });
  }
  expect(first.received).toHaveLength(1);
});
