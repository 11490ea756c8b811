import { randomBytes } from "node:crypto";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { canonicalJson, storable } from "@heddle/exact-json";
import {
  decodeTraces,
  findRefs,
  runSteps,
  scanTraces,
  spansToCalls,
  summaryWithWeave,
  usageOf,
  valueDigest,
  weaveBlock,
} from "../src/index.js";

/* Run: npx -y pnpm@10.34.9 --filter @heddle/trace-model bench */

const word = () => randomBytes(6).toString("base64");
const messages = Array.from({ length: 12 }, (_, index) => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: Array.from({ length: 15 }, word).join(" "),
}));
const inputs = JSON.stringify({ messages, temperature: 0.7, seed: 1234567 });
const image = JSON.stringify({ image: randomBytes(750_000).toString("base64") });
const withRefs = JSON.stringify({
  messages,
  model: "weave:///acme/demo/object/my-model:2N7W72R7BZaqqYKdkGLpQYl6XgSTLRDmLz9blXlWwGE",
  example: "weave:///acme/demo/object/data:abc/attr/rows/id/pb0tS76HLW8CsoAkPvwQy2NU1YoOCOXkQZ6a6AAh6M8",
});
const summary = JSON.stringify({
  usage: { "gpt-5": { prompt_tokens: 812, completion_tokens: 95, requests: 1, total_tokens: 907 } },
  status_counts: { success: 3, error: 0 },
});
const block = weaveBlock({ op_name: "weave:///acme/demo/op/answer:abc", status: "success", latency_us: 1_250_000n });

measure(`storable, ${inputs.length} bytes`, () => storable(inputs));
measure(`storable, ${image.length} bytes of base64`, () => storable(image));
measure(`findRefs, ${inputs.length} bytes without refs`, () => findRefs(inputs));
measure(`findRefs, ${withRefs.length} bytes with two`, () => findRefs(withRefs));
measure("usageOf", () => usageOf(summary));
measure("summaryWithWeave", () => summaryWithWeave(summary, block));
measure(`canonicalJson, ${inputs.length} bytes`, () => canonicalJson(inputs));
measure("valueDigest", () => valueDigest(inputs));
measure("JSON.parse + JSON.stringify, to compare", () => JSON.stringify(JSON.parse(inputs)));

const spans = exportedSpans(500);
for (const [serializer, mediaType] of [
  [ProtobufTraceSerializer, "application/x-protobuf"],
  [JsonTraceSerializer, "application/json"],
] as const) {
  const bytes = serializer.serializeRequest(spans) ?? new Uint8Array();
  const name = `${mediaType}, per span of ${Math.round(bytes.length / spans.length)} bytes`;
  measure(`decodeTraces ${name}`, () => runSteps(decodeTraces(scanTraces(bytes, mediaType))), spans.length);
  measure(
    `decode + calls ${name}`,
    () => runSteps(spansToCalls(runSteps(decodeTraces(scanTraces(bytes, mediaType))))),
    spans.length,
  );
}

function measure(name: string, work: () => unknown, items = 1): void {
  const warmUntil = performance.now() + 300;
  while (performance.now() < warmUntil) work();
  let runs = 0;
  const from = process.cpuUsage();
  const until = performance.now() + 1000;
  for (; performance.now() < until; runs++) work();
  const { user, system } = process.cpuUsage(from);
  const each = (user + system) / runs / items;
  console.log(
    `${each.toFixed(2).padStart(10)} µs CPU  ${Math.round(1e6 / each)
      .toString()
      .padStart(9)}/s  ${name}`,
  );
}

function exportedSpans(count: number) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "wandb.entity": "acme", "wandb.project": "demo", "service.name": "shop" }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("bench");
  for (let index = 0; index < count; index++) {
    const span = tracer.startSpan("chat", {
      attributes: {
        "gen_ai.prompt": JSON.stringify(messages.slice(0, 6)),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": messages[1]?.content ?? "",
        "gen_ai.usage.input_tokens": 812,
        "gen_ai.usage.output_tokens": 95,
        "gen_ai.request.model": "gpt-5",
        "gen_ai.request.temperature": 0.7,
        "gen_ai.system": "openai",
      },
    });
    span.end();
  }
  return exporter.getFinishedSpans();
}
