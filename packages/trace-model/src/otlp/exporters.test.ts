import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { describe, expect, test } from "vitest";
import { formatTime } from "../time.js";
import { decodeTraces, encodeTracesResponse, scanTraces } from "./export.js";
import { runSteps } from "../steps.js";
import { opObjectId } from "../refs/op-object.js";
import { spansToCalls } from "./to-calls.js";
import type { SpanCall } from "./to-calls.js";

type Encoding = [string, typeof ProtobufTraceSerializer, string];

const encodings: Encoding[] = [
  ["protobuf", ProtobufTraceSerializer, "application/x-protobuf"],
  ["JSON", JsonTraceSerializer, "application/json; charset=utf-8"],
];

function exportedSpans() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": "shop",
      "wandb.entity": "acme",
      "wandb.project": "demo",
      "wandb.wb_run_id": "run1",
    }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("my-lib", "1.2.3");
  const root = tracer.startSpan("agent", { startTime: [1_775_811_600, 123_456_789], kind: SpanKind.SERVER });
  const context = trace.setSpan(ROOT_CONTEXT, root);
  const chat = tracer.startSpan(
    "chat é",
    {
      startTime: [1_775_811_600, 200_000_000],
      kind: SpanKind.CLIENT,
      links: [
        {
          context: {
            traceId: "0af7651916cd43dd8448eb211c80319c",
            spanId: "b7ad6b7169203331",
            traceFlags: TraceFlags.SAMPLED,
          },
        },
      ],
      attributes: {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "hi",
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.completion": '[{"role":"assistant", "n": 1.0}]',
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.model": "m-1",
        "gen_ai.request.temperature": 0.7,
        "gen_ai.request.top_p": 1,
        "gen_ai.system": "openai",
        "wandb.display_name": "Chat",
        "wandb.thread_id": "thread",
        "wandb.is_turn": true,
        "wandb.wb_run_step": 4,
        "wandb.attributes": '{"mine": 1.50}',
        list: ["a", "b"],
        big: Number.MAX_SAFE_INTEGER,
        negative: -12,
      },
    },
    context,
  );
  chat.addEvent("note", { "a.b": 1 }, [1_775_811_600, 300_000_000]);
  chat.setStatus({ code: SpanStatusCode.ERROR, message: "too slow" });
  chat.end([1_775_811_601, 450_000_999]);
  root.end([1_775_811_602, 0]);
  return exporter.getFinishedSpans();
}

function callsOf(
  spans: ReturnType<typeof exportedSpans>,
  [, serializer, mediaType]: (typeof encodings)[number],
): SpanCall[] {
  const bytes = serializer.serializeRequest(spans) ?? new Uint8Array();
  const { calls, rejected } = runSteps(spansToCalls(runSteps(decodeTraces(scanTraces(bytes, mediaType)))));
  expect(rejected).toEqual([]);
  return calls;
}

describe.each(encodings)("spans of the JavaScript exporter in %s", (...encoding) => {
  const spans = exportedSpans();
  const [chat, root] = callsOf(spans, encoding);

  test("become calls of the project their resource names", () => {
    const [chatSpan, rootSpan] = spans;
    expect(root?.start).toMatchObject({
      project_id: "acme/demo",
      id: rootSpan?.spanContext().spanId,
      trace_id: rootSpan?.spanContext().traceId,
      parent_id: undefined,
      op_name: "agent",
      wb_run_id: "acme/demo/run1",
      inputs: "{}",
      source: "otel",
    });
    expect(chat?.start).toMatchObject({
      id: chatSpan?.spanContext().spanId,
      parent_id: rootSpan?.spanContext().spanId,
      op_name: "chat é",
      display_name: "Chat",
      thread_id: "thread",
      turn_id: chatSpan?.spanContext().spanId,
      wb_run_step: 4,
    });
    expect([root?.opObjectId, chat?.opObjectId]).toEqual(["agent", opObjectId("chat é")]);
    expect(root?.end).toMatchObject({ summary: "{}", output: undefined, exception: undefined });
  });

  test("keep their time to the microsecond", () => {
    expect(formatTime(root?.start.started_at ?? 0n)).toBe("2026-04-10T09:00:00.123456Z");
    expect(formatTime(chat?.end.ended_at ?? 0n)).toBe("2026-04-10T09:00:01.450000Z");
    expect(chat?.end.started_at).toBe(chat?.start.started_at);
  });

  test("carry their inputs, output, usage and failure", () => {
    expect(chat?.start.inputs).toBe('{"gen_ai.prompt":[{"role":"user","content":"hi"},{"role":"assistant"}]}');
    expect(chat?.end.output).toBe('{"gen_ai.completion":[{"role":"assistant", "n": 1.0}]}');
    expect(chat?.end.summary).toBe('{"usage":{"m-1":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}}');
    expect(chat?.end.exception).toBe("too slow");
  });

  test("keep the whole span in the attributes", () => {
    const attributes = JSON.parse(chat?.start.attributes ?? "") as Record<string, unknown>;
    const [chatSpan, rootSpan] = spans;
    expect(attributes).toMatchObject({
      system: "openai",
      model: "m-1",
      model_parameters: { temperature: 0.7, top_p: 1 },
      mine: 1.5,
    });
    expect(attributes.otel_span).toEqual({
      name: "chat é",
      context: { trace_id: chatSpan?.spanContext().traceId, span_id: chatSpan?.spanContext().spanId, trace_state: "" },
      kind: "CLIENT",
      parent_id: rootSpan?.spanContext().spanId,
      start_time: "2026-04-10T09:00:00.200000Z",
      end_time: "2026-04-10T09:00:01.450000Z",
      status: { code: "ERROR", message: "too slow" },
      attributes: expect.objectContaining({ list: ["a", "b"], big: Number.MAX_SAFE_INTEGER, negative: -12 }) as unknown,
      events: [
        {
          name: "note",
          timestamp: "2026-04-10T09:00:00.300000Z",
          attributes: { a: { b: 1 } },
          dropped_attributes_count: 0,
        },
      ],
      links: [
        {
          trace_id: "0af7651916cd43dd8448eb211c80319c",
          span_id: "b7ad6b7169203331",
          trace_state: "",
          attributes: {},
          dropped_attributes_count: 0,
          flags: expect.any(Number) as unknown,
        },
      ],
      resource: {
        attributes: {
          service: { name: "shop" },
          wandb: { entity: "acme", project: "demo", wb_run_id: "run1" },
        },
        dropped_attributes_count: 0,
      },
      scope: { name: "my-lib", version: "1.2.3" },
    });
  });

  test("get responses in their own encoding", () => {
    const [, serializer, mediaType] = encoding;
    const all = encodeTracesResponse([], mediaType);
    expect(all.mediaType).toBe(mediaType.split(";")[0]);
    expect(Buffer.from(all.bytes).toString()).toBe(mediaType.includes("json") ? "{}" : "");
    const some = encodeTracesResponse(
      Array.from({ length: 300 }, (_, index) => ({ message: `span ${index}` })),
      mediaType,
    );
    const { partialSuccess } = serializer.deserializeResponse(some.bytes);
    expect(Number(partialSuccess?.rejectedSpans)).toBe(300);
    expect(partialSuccess?.errorMessage).toBe(Array.from({ length: 20 }, (_, index) => `span ${index}`).join("; "));
  });
});

test.each(encodings)(
  "what of stored spans is not stored is a partial success without rejected spans in %s",
  (...encoding) => {
    const [, serializer, mediaType] = encoding;
    const { bytes } = encodeTracesResponse(
      [
        { message: "a part", spans: 0 },
        { message: "x".repeat(10_000), spans: 0 },
      ],
      mediaType,
    );
    const { partialSuccess } = serializer.deserializeResponse(bytes);
    expect(Number(partialSuccess?.rejectedSpans)).toBe(0);
    expect(partialSuccess?.errorMessage).toBe(`a part; ${"x".repeat(500)}`);
    const both = encodeTracesResponse([{ message: "a part", spans: 0 }, { message: "a span" }], mediaType);
    expect(serializer.deserializeResponse(both.bytes).partialSuccess?.errorMessage).toBe("a span; a part");
  },
);

test("both encodings of the same spans give the same calls", () => {
  const spans = exportedSpans();
  const [one, other] = encodings.map((encoding) => callsOf(spans, encoding));
  expect(one).toEqual(other);
});
