// Sends one model call as an OpenTelemetry span.
// Start the service, then: npx tsx send-opentelemetry.ts
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const baseUrl = process.env.HEDDLE_URL ?? "http://127.0.0.1:4680";
const exporter = new OTLPTraceExporter({
  url: `${baseUrl}/otel/v1/traces`,
  headers: { "wandb-api-key": process.env.HEDDLE_API_KEY ?? "" },
});
const provider = new BasicTracerProvider({
  // The project that the spans belong to; a header `project_id: local/examples` would do as well.
  resource: resourceFromAttributes({ "wandb.entity": "local", "wandb.project": "examples" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});

const span = provider.getTracer("example").startSpan("chat");
span.setAttributes({
  "gen_ai.request.model": "small-model",
  "gen_ai.prompt": "What holds the warp threads apart?",
  "gen_ai.completion": "The heddle.",
  "gen_ai.usage.prompt_tokens": 8,
  "gen_ai.usage.completion_tokens": 3,
});
span.end();

await provider.shutdown();
console.log("sent");
