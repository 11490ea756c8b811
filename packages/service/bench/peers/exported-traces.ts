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

/** The traces from one number to another, each always the same and a second after the one before, in exports as an SDK makes them. */
export function* exportedTraces(from: number, to: number, firstMs: number): Generator<Buffer> {
  for (let start = from; start < to; start += tracesPerExport) {
    const exporter = new InMemorySpanExporter();
    for (let index = start; index < Math.min(to, start + tracesPerExport); index++)
      exportTrace(exporter, index, firstMs);
    yield Buffer.from(ProtobufTraceSerializer.serializeRequest(exporter.getFinishedSpans()) ?? []);
  }
}

/** A trace that is or was exported. */
export function tracedAt(index: number): RecordedTrace {
  return exportTrace(new InMemorySpanExporter(), index, 0);
}

function exportTrace(exporter: InMemorySpanExporter, index: number, firstMs: number): RecordedTrace {
  const random = randomNumbers(index);
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "shop" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    idGenerator: { generateTraceId: () => hex(random, 32), generateSpanId: () => hex(random, 16) },
  });
  return recordTrace(provider, random, firstMs + index * 1000, index % failedEach === 0);
}

function recordTrace(provider: BasicTracerProvider, random: Random, startMs: number, fails: boolean): RecordedTrace {
  const tracer = provider.getTracer("bench");
  const root = tracer.startSpan("agent", { startTime: startMs, attributes: kindOf("AGENT", sentence(random, 40)) });
  const below = trace.setSpan(context.active(), root);
  let spanId = "";
  for (let index = 1; index < spansPerTrace; index++) {
    const [name, attributes] = children[index % 3]?.(random) ?? ["", {}];
    const span = tracer.startSpan(name, { startTime: startMs + index * 60, attributes }, below);
    if (name === "chat") spanId = span.spanContext().spanId;
    if (fails && index === 1) span.setStatus({ code: SpanStatusCode.ERROR, message: "rate limited" });
    span.end(startMs + index * 60 + 50);
  }
  if (fails) root.setStatus({ code: SpanStatusCode.ERROR, message: "rate limited" });
  root.setAttribute("output.value", sentence(random, 60));
  root.end(startMs + 900);
  return { traceId: root.spanContext().traceId, spanId };
}

type Child = (random: Random) => [name: string, attributes: Record<string, string | number>];

/** In the conventions of OpenInference, which all of the compared services read. */
const children: readonly Child[] = [
  (random) => [
    "chat",
    {
      ...kindOf("LLM", sentence(random, 60)),
      "llm.model_name": "gpt-4o",
      "llm.input_messages.0.message.role": "user",
      "llm.input_messages.0.message.content": sentence(random, 60),
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.content": sentence(random, 60),
      "llm.token_count.prompt": 812,
      "llm.token_count.completion": 95,
      "llm.token_count.total": 907,
      "output.value": sentence(random, 60),
    },
  ],
  (random) => ["search", { ...kindOf("RETRIEVER", sentence(random, 12)), "output.value": sentence(random, 120) }],
  (random) => ["tool", { ...kindOf("TOOL", sentence(random, 30)), "output.value": sentence(random, 30) }],
];

const kindOf = (kind: string, input: string) => ({ "openinference.span.kind": kind, "input.value": input });

const sentence = (random: Random, length: number): string =>
  Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(" ");

const hex = (random: Random, length: number): string =>
  Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join("");

/** From 0 to 1. */
type Random = () => number;

/** Always the same for a seed. */
function randomNumbers(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
