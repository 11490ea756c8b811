import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { newId } from "@heddle/trace-model";
import type { ReadyRequest } from "./load.js";

const words =
  "trace prompt model answer token context search result user agent plan step tool error retry score dataset".split(
    " ",
  );
const sentence = (length: number): string =>
  Array.from({ length }, () => words[Math.floor(Math.random() * words.length)]).join(" ");

/** One complete call with about 2 KB of JSON that compresses like text. */
function completeCall(projectId: string): object {
  const id = newId();
  const started = Date.now();
  return {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "weave:///acme/demo/op/answer:R2M3VnB8",
    started_at: new Date(started).toISOString(),
    ended_at: new Date(started + 1250).toISOString(),
    attributes: { weave: { client_version: "0.52.0", source: "bench" }, seed: Math.random() },
    inputs: {
      model: "gpt-x",
      temperature: 0.5,
      messages: [
        { role: "system", content: sentence(60) },
        { role: "user", content: `${sentence(50)}\n"${sentence(3)}"` },
      ],
    },
    output: { choices: [{ message: { role: "assistant", content: sentence(170) } }] },
    summary: {
      usage: { "gpt-x": { requests: 1, prompt_tokens: 120, completion_tokens: 80, total_tokens: 200 } },
      status_counts: { success: 1, error: 0 },
    },
  };
}

/** `count` requests with `size` complete calls each. */
export function completeRequests(projectId: string, count: number, size: number): ReadyRequest[] {
  return Array.from({ length: count }, () => ({
    path: `/v2/${projectId}/calls/complete`,
    headers: { "content-type": "application/json" },
    bytes: Buffer.from(JSON.stringify({ batch: Array.from({ length: size }, () => completeCall(projectId)) })),
  }));
}

/** `count` exports with `size` spans of about 1.2 KB each, as the OpenTelemetry SDK encodes them. */
export function spanRequests(projectId: string, count: number, size: number): ReadyRequest[] {
  return Array.from({ length: count }, () => ({
    path: "/otel/v1/traces",
    headers: { "content-type": "application/x-protobuf", project_id: projectId },
    bytes: Buffer.from(ProtobufTraceSerializer.serializeRequest(spans(size)) ?? []),
  }));
}

function spans(count: number) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "shop", "deployment.environment": "production" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("bench");
  for (let index = 0; index < count; index++) {
    const span = tracer.startSpan(`chat ${index % 10}`, {
      attributes: {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.request.temperature": 0.7,
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": sentence(60),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": sentence(60),
        "gen_ai.usage.input_tokens": 812,
        "gen_ai.usage.output_tokens": 95,
      },
    });
    span.end();
  }
  return exporter.getFinishedSpans();
}
