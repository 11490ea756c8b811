// Answers questions with the AI SDK, traced by its package for OpenTelemetry.
import { openai } from "@ai-sdk/openai";
import { OpenTelemetry } from "@ai-sdk/otel";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, registerTelemetry, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
registerTelemetry(new OpenTelemetry({ runtimeContext: true, agentSpanName: "functionId" }));

const model = openai.chat("gpt-4o-mini");
const runtimeContext = { sessionId: "support-4711" };
const includeRuntimeContext = { sessionId: true } as const;
const getWeather = tool({
  description: "The weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `18 °C in ${city}`,
});

const { text } = await generateText({
  model,
  prompt: "What is the weather in Paris?",
  tools: { get_weather: getWeather },
  stopWhen: stepCountIs(3),
  runtimeContext,
  telemetry: { functionId: "answer", includeRuntimeContext },
});
console.log(text);

const { textStream } = streamText({
  model,
  prompt: "What should I wear?",
  runtimeContext,
  telemetry: { functionId: "advise", includeRuntimeContext },
});
for await (const piece of textStream) process.stdout.write(piece);
await provider.shutdown();
