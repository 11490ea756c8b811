import { SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
let url: string;
beforeAll(async () => {
  service = await openTestService();
  url = await service.listen();
});
afterAll(() => service.close());

const gzip = "gzip" as never;
const exporters: Record<string, (project_id: string) => SpanExporter> = {
  protobuf: (projectId) =>
    new ProtobufExporter({
      url: `${url}/otel/v1/traces`,
      headers: { "wandb-api-key": service.owner_key, project_id: projectId },
    }),
  "protobuf, gzip, Basic": (projectId) =>
    new ProtobufExporter({
      url: `${url}/otel/v1/traces`,
      compression: gzip,
      headers: { authorization: `Basic ${btoa(`api:${service.owner_key}`)}`, project_id: projectId },
    }),
  JSON: (projectId) =>
    new JsonExporter({
      url: `${url}/traces/otel/v1/traces`,
      headers: { "wandb-api-key": service.owner_key, project_id: projectId },
    }),
  "JSON, gzip, Bearer": (projectId) =>
    new JsonExporter({
      url: `${url}/agents/otel/v1/traces`,
      compression: gzip,
      headers: { authorization: `Bearer ${service.owner_key}`, project_id: projectId },
    }),
};

test.each(Object.keys(exporters))("an OpenTelemetry exporter sends spans as %s", async (name) => {
  const projectId = newProject();
  const exporter = exporters[name]?.(projectId);
  if (exporter === undefined) throw new Error(name);
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  const parent = tracer.startSpan("answer a question", {
    attributes: {
      "gen_ai.prompt.0.role": "user",
      "gen_ai.prompt.0.content": "what is 2+2?",
      "gen_ai.completion.0.content": "4",
      "gen_ai.response.model": "small-model",
      "gen_ai.usage.input_tokens": 7,
      "gen_ai.usage.output_tokens": 1,
      "wandb.thread_id": "thread-1",
    },
  });
  const child = tracer.startSpan(
    "look it up",
    {},
    trace.setSpan((await import("@opentelemetry/api")).context.active(), parent),
  );
  child.setStatus({ code: SpanStatusCode.ERROR, message: "no such page" });
  child.end();
  parent.end();
  await provider.forceFlush();
  await provider.shutdown();

  const calls = [];
  for await (const call of service.tracing().callsQueryStream({ project_id: projectId })) calls.push(call);
  expect(calls).toHaveLength(2);
  const root = calls.find((call) => call.parent_id === null);
  expect(root).toMatchObject({
    id: parent.spanContext().spanId,
    trace_id: parent.spanContext().traceId,
    thread_id: "thread-1",
    inputs: { "gen_ai.prompt": [{ role: "user", content: "what is 2+2?" }] },
    summary: { usage: { "small-model": { input_tokens: 7, output_tokens: 1 } }, weave: { status: "success" } },
  });
  expect(calls.find((call) => call.parent_id === root?.id)).toMatchObject({
    exception: "no such page",
    summary: { weave: { status: "error" } },
  });
  expect(service.unexpected).toEqual([]);
});

test("resource attributes name the project and win over the header", async () => {
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const exporter = new ProtobufExporter({
    url: `${url}/otel/v1/traces`,
    headers: { "wandb-api-key": service.owner_key, project_id: "acme/elsewhere" },
  });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "wandb.entity": entity, "wandb.project": project }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  provider.getTracer("test").startSpan("only").end();
  await provider.forceFlush();
  await provider.shutdown();
  expect(await service.tracing().callsQueryStats({ project_id: projectId })).toMatchObject({ count: 1 });
  expect(await service.tracing().callsQueryStats({ project_id: "acme/elsewhere" })).toMatchObject({ count: 0 });
});

test("an exporter that is given nothing but the URL of the service and a key of one project stores there", async () => {
  const [entity = "", project = ""] = newProject().split("/");
  const key = await service.key({ entity, projects: [project] });
  const paths = ["/v1/traces", "/v1/traces/", "//v1//traces//", "/traces/v1/traces/", "/traces/otel/v1/traces/"];
  const all = [ProtobufExporter, JsonExporter].flatMap((Exporter) => paths.map((path) => [Exporter, path] as const));
  for (const [Exporter, path] of all) {
    // As `OTEL_EXPORTER_OTLP_ENDPOINT` and `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` make it, some with slashes too many.
    const exporter = new Exporter({ url: `${url}${path}`, headers: { authorization: `Bearer ${key}` } });
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    provider.getTracer("test").startSpan("only").end();
    await provider.forceFlush();
    await provider.shutdown();
  }
  const { count } = await service.tracing().callsQueryStats({ project_id: `${entity}/${project}` });
  expect(count).toBe(all.length);
});

test.each(["logs", "metrics"])(
  "an exporter of %s is told what to set, and does not repeat its export",
  async (signal) => {
    const several = await service.key({ projects: ["a", "b"] });
    const bases = ["", "/otel", "/agents/otel", "/traces", "/traces/otel"];
    for (const base of bases.flatMap((path) => [`${path}/v1/${signal}`, `${path}/v1/${signal}/`])) {
      const response = await fetch(`${url}${base}`, {
        method: "POST",
        headers: { authorization: `Bearer ${several}`, "content-type": "application/x-protobuf" },
        body: "x".repeat(100_000),
      });
      expect([base, response.status]).toEqual([base, 404]);
      expect(await response.text()).toContain(`OTEL_${signal.toUpperCase()}_EXPORTER=none`);
    }
  },
);

test("the header of the project may have the slash as exporters are set up with it", async () => {
  const projectId = newProject();
  const headers = { "wandb-api-key": service.owner_key, project_id: projectId.replace("/", "%2F") };
  const exporter = new ProtobufExporter({ url: `${url}/v1/traces`, headers });
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.getTracer("test").startSpan("only").end();
  await provider.forceFlush();
  await provider.shutdown();
  expect(await service.tracing().callsQueryStats({ project_id: projectId })).toMatchObject({ count: 1 });
});

test("spans without any project are refused with both ways to name one", async () => {
  const answer = await fetch(`${url}/otel/v1/traces`, {
    method: "POST",
    headers: { "content-type": "application/json", "wandb-api-key": service.owner_key },
    body: JSON.stringify({
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  traceId: "1".repeat(32),
                  spanId: "2".repeat(16),
                  name: "x",
                  startTimeUnixNano: "1",
                  endTimeUnixNano: "2",
                },
              ],
            },
          ],
        },
      ],
    }),
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(/wandb\.project.*project_id|project_id.*wandb\.project/);
});

test("many exports at once of one key, one of them with spans that cannot be stored, lose nothing", async () => {
  const projectId = newProject();
  const started = BigInt(Date.now()) * 1_000_000n;
  const spans = (batch: number, count: number, name = "step") =>
    Array.from({ length: count }, (_, index) => ({
      traceId: `${batch}`.padStart(32, "1"),
      spanId: `${batch * 1000 + index}`.padStart(16, "2"),
      name,
      startTimeUnixNano: String(started + BigInt(index)),
      endTimeUnixNano: String(started + BigInt(index) + 1000n),
    }));
  const send = async (sent: ReturnType<typeof spans>) => {
    const headers = { "content-type": "application/json", "wandb-api-key": service.owner_key, project_id: projectId };
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: sent }] }] });
    const response = await fetch(`${url}/otel/v1/traces`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    return await response.json();
  };
  const faulty = spans(4, 200).map((span, index) => (index % 100 === 7 ? { ...span, traceId: "nothing" } : span));
  // Of few spans and of many: the latter are decoded one after the other.
  const batches = [spans(1, 200), spans(2, 200), spans(3, 5), faulty, spans(5, 200), spans(6, 200)];
  const responses = await Promise.all(batches.map(send));
  expect(responses[3]).toMatchObject({ partialSuccess: { rejectedSpans: 2 } });
  for (const index of [0, 1, 2, 4, 5]) expect(responses[index]).toEqual({});
  expect(await service.tracing().callsQueryStats({ project_id: projectId })).toMatchObject({ count: 1003 });
});
