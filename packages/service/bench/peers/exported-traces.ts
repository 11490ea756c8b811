import { randomBytes } from "node:crypto";
import { SpanStatusCode, context, trace } from "@opentelemetry/api";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

/** Of one agent: a root, and in turns chats, searches and tools below it. */
export const spansPerTrace = 13;
const tracesPerExport = 40;
/** Of how many traces one has failed. */
const failedEach = 10;

const words =
  "trace prompt model answer token context search result user agent plan step tool error retry score dataset".split(
    " ",
  );

export interface RecordedTrace {
  traceId: string;
  /** Of a chat. */
  spanId: string;
}

export interface TraceExport {
  /** OTLP protobuf. */
  bytes: Buffer;
  traces: RecordedTrace[];
}

/** So many traces, the oldest first, a second apart and ending now, in exports as an SDK makes them. */
export function* exportedTraces(count: number): Generator<TraceExport> {
  const firstMs = Date.now() - count * 1000;
  for (let from = 0; from < count; from += tracesPerExport) {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({ "service.name": "shop" }),
      spanProcessors: [new SimpleSpanProcessor(exporter)],
      idGenerator: {
        generateTraceId: () => randomBytes(16).toString("hex"),
        generateSpanId: () => randomBytes(8).toString("hex"),
      },
    });
    const traces: RecordedTrace[] = [];
    for (let index = from; index < Math.min(count, from + tracesPerExport); index++) {
      traces.push(recordTrace(provider, firstMs + index * 1000, index % failedEach === 0));
    }
    const bytes = Buffer.from(ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans()) ?? []);
    yield { bytes, traces };
  }
}

function recordTrace(provider: BasicTracerProvider, startMs: number, fails: boolean): RecordedTrace {
  const tracer = provider.getTracer("bench");
  const root = tracer.startSpan("agent", { startTime: startMs, attributes: kindOf("AGENT", sentence(40)) });
  const below = trace.setSpan(context.active(), root);
  let spanId = "";
  for (let index = 1; index < spansPerTrace; index++) {
    const [name, attributes] = children[index % 3]?.() ?? ["", {}];
    const span = tracer.startSpan(name, { startTime: startMs + index * 60, attributes }, below);
    if (name === "chat") spanId = span.spanContext().spanId;
    if (fails && index === 1) span.setStatus({ code: SpanStatusCode.ERROR, message: "rate limited" });
    span.end(startMs + index * 60 + 50);
  }
  if (fails) root.setStatus({ code: SpanStatusCode.ERROR, message: "rate limited" });
  root.setAttribute("output.value", sentence(60));
  root.end(startMs + 900);
  return { traceId: root.spanContext().traceId, spanId };
}

type Child = () => [name: string, attributes: Record<string, string | number>];

/** In the conventions of OpenInference, which all of the compared services read. */
const children: readonly Child[] = [
  () => [
    "chat",
    {
      ...kindOf("LLM", sentence(60)),
      "llm.model_name": "gpt-4o",
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.content": sentence(60),
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.content": sentence(60),
      "llm.token_count.prompt": 812,
      "llm.token_count.completion": 95,
      "llm.token_count.total": 907,
      "output.value": sentence(60),
    },
  ],
  () => ["search", { ...kindOf("RETRIEVER", sentence(12)), "output.value": sentence(120) }],
  () => ["tool", { ...kindOf("TOOL", sentence(30)), "output.value": sentence(30) }],
];

const kindOf = (kind: string, input: string) => ({ "openinference.span.kind": kind, "input.value": input });

const sentence = (length: number): string =>
  Array.from({ length }, () => words[Math.floor(Math.random() * words.length)]).join(" ");
