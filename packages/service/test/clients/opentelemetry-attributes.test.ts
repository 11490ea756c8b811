import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
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

test("calls are found by an attribute and by one below its key", async () => {
  const projectId = newProject();
  const headers = { "wandb-api-key": service.owner_key, project_id: projectId };
  const exporter = new OTLPTraceExporter({ url: `${url}/otel/v1/traces`, headers });
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  const both = { error: "timeout", "error.type": "E", x: '{"a":1}', "x.b": "2" };
  const span = tracer.startSpan("both", { attributes: both });
  span.end();
  tracer.startSpan("one", { attributes: { "error.type": "E" } }).end();
  await provider.forceFlush();
  await provider.shutdown();

  const found = async (field: string, literal: string) => {
    const query = { $expr: { $eq: [{ $getField: field }, { $literal: literal }] } };
    const { calls } = await service.tracing().callsQuery({ project_id: projectId, query });
    return calls.map(({ id }) => id);
  };
  const { spanId } = span.spanContext();
  expect(await found("attributes.otel_span.attributes.error", "timeout")).toEqual([spanId]);
  expect(await found(String.raw`attributes.otel_span.attributes.error\.type`, "E")).toEqual([spanId]);
  expect(await found("attributes.otel_span.attributes.x.a", "1")).toEqual([spanId]);
  expect(await found("attributes.otel_span.attributes.x.b", "2")).toEqual([spanId]);
  expect(service.unexpected).toEqual([]);
});

test("what of a span cannot be read is named, counts no span as rejected and costs nothing else", async () => {
  const projectId = newProject();
  const attributes = [
    { key: "bad", value: { intValue: "abc" } },
    { key: "gen_ai.tool.call.arguments", value: { stringValue: '{"city":"Paris"}' } },
    { key: "ai.telemetry.metadata.sessionId", value: { stringValue: "thread-1" } },
  ];
  const span = {
    traceId: "1".repeat(32),
    spanId: "2".repeat(16),
    parentSpanId: "0".repeat(16),
    name: "execute_tool",
    startTimeUnixNano: "abc",
    endTimeUnixNano: "later",
    attributes,
  };
  const lost = { ...span, spanId: "2222" };
  const send = async (spans: object[]) => {
    const response = await fetch(`${url}/otel/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json", "wandb-api-key": service.owner_key, project_id: projectId },
      body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
    });
    return { status: response.status, body: await response.json() };
  };
  const before = Date.now() - 1000;
  const errorMessage = [
    "span execute_tool: startTimeUnixNano is not an integer",
    "span execute_tool: endTimeUnixNano is not an integer",
    "span execute_tool: attribute bad: intValue is not an integer",
  ].join("; ");
  expect(await send([span])).toEqual({ status: 200, body: { partialSuccess: { rejectedSpans: 0, errorMessage } } });
  const { calls } = await service.tracing().callsQuery({ project_id: projectId });
  expect(calls).toMatchObject([
    {
      id: span.spanId,
      parent_id: null,
      thread_id: "thread-1",
      turn_id: span.spanId,
      inputs: { "gen_ai.tool.call.arguments": { city: "Paris" } },
      attributes: { otel_span: { attributes: { bad: null } } },
    },
  ]);
  expect(Date.parse(calls[0]?.started_at ?? "")).toBeGreaterThan(before);

  const { body } = await send([span, lost]);
  expect(body).toMatchObject({ partialSuccess: { rejectedSpans: 1 } });
  expect(body).toMatchObject({ partialSuccess: { errorMessage: expect.stringMatching(/^span .*span id/) as string } });
  expect(service.unexpected).toEqual([]);
});
