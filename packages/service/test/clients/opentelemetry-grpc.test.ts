import { SpanStatusCode } from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import type { ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listenGrpc();
});
afterAll(() => service.close());

/** Spans as the SDK of OpenTelemetry makes them. */
function finishedSpans(resource: Record<string, string> = {}, count = 1): ReadableSpan[] {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes(resource),
    spanProcessors: [new SimpleSpanProcessor(memory)],
  });
  const tracer = provider.getTracer("test");
  for (let index = 0; index < count; index++) {
    const span = tracer.startSpan("answer a question", {
      attributes: { "gen_ai.prompt.0.content": "2+2?", "gen_ai.usage.input_tokens": 7, "gen_ai.response.model": "m" },
    });
    if (index % 2 === 1) span.setStatus({ code: SpanStatusCode.ERROR, message: "no such page" });
    span.end();
  }
  return memory.getFinishedSpans();
}

async function send(
  spans: ReadableSpan[],
  headers: Record<string, string>,
  compression = "none",
): Promise<ExportResult> {
  // As the instrumentations of OpenTelemetry are set up: by variables of the environment.
  const settings: Record<string, string> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_COMPRESSION: compression,
    OTEL_EXPORTER_OTLP_HEADERS: Object.entries(headers)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join(","),
  };
  Object.assign(process.env, settings);
  const exporter = new OTLPTraceExporter({ timeoutMillis: 25_000 });
  for (const name of Object.keys(settings)) delete process.env[name];
  const result = await new Promise<ExportResult>((resolve) => exporter.export(spans, resolve));
  await exporter.shutdown();
  return result;
}

const countOf = async (projectId: string) => (await service.tracing().callsQueryStats({ project_id: projectId })).count;

test.each([
  ["wandb-api-key", "none", (key: string) => ({ "wandb-api-key": key })],
  ["Bearer", "gzip", (key: string) => ({ authorization: `Bearer ${key}` })],
  ["Basic", "none", (key: string) => ({ authorization: `Basic ${btoa(`api:${key}`)}` })],
])("the exporter for gRPC stores spans with a key as %s and compression %s", async (_, compression, credentials) => {
  const projectId = newProject();
  const result = await send(
    finishedSpans({}, 2),
    { ...credentials(service.owner_key), project_id: projectId },
    compression,
  );
  expect(result).toEqual({ code: ExportResultCode.SUCCESS });
  const { calls } = await service.tracing().callsQuery({ project_id: projectId });
  expect(calls).toHaveLength(2);
  expect(calls.find(({ exception }) => exception === null)).toMatchObject({
    inputs: { "gen_ai.prompt": [{ content: "2+2?" }] },
    summary: { usage: { m: { input_tokens: 7 } }, weave: { status: "success" } },
  });
  expect(calls.find(({ exception }) => exception !== null)).toMatchObject({ exception: "no such page" });
  expect(service.unexpected).toEqual([]);
});

test("the project is that of the resource, else of the metadata, else the only one of the key", async () => {
  const [named, fallback, only] = [newProject(), newProject(), newProject()];
  const [entity = "", project = ""] = named.split("/");
  const key = { "wandb-api-key": service.owner_key };
  await send(finishedSpans({ "wandb.entity": entity, "wandb.project": project }), { ...key, project_id: fallback });
  await send(finishedSpans(), { ...key, project_id: fallback });
  const ofOne = await service.key({ entity, projects: [only.split("/")[1] ?? ""] });
  await send(finishedSpans(), { authorization: `Bearer ${ofOne}` });
  expect(await Promise.all([named, fallback, only].map(countOf))).toEqual([1, 1, 1]);
});

test("what is refused has the status of gRPC that says why, and is not sent again", async () => {
  const reader = await service.key({ role: "read" });
  const foreign = await service.key({ entity: "rival" });
  const cases: [headers: Record<string, string>, code: number, message: RegExp][] = [
    [{}, 16, /No API key/],
    [{ authorization: "Bearer nothing" }, 16, /Unknown or revoked/],
    [{ authorization: `Bearer ${reader}`, project_id: newProject() }, 7, /Forbidden/],
    [{ authorization: `Bearer ${foreign}`, project_id: newProject() }, 7, /Forbidden/],
    [{ "wandb-api-key": service.owner_key }, 3, /no project: .*OTEL_RESOURCE_ATTRIBUTES.*OTEL_EXPORTER_OTLP_HEADERS/],
    [{ "wandb-api-key": service.owner_key, project_id: "nothing" }, 3, /entity\/project/],
  ];
  for (const [headers, code, message] of cases) {
    const { error } = await send(finishedSpans(), headers);
    expect([headers, error]).toEqual([
      headers,
      expect.objectContaining({ code, details: expect.stringMatching(message) }),
    ]);
  }
});
