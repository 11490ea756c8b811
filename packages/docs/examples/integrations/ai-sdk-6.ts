// Answers questions with the AI SDK, traced by its own telemetry.
import { openai } from "@ai-sdk/openai";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();

const model = openai.chat("gpt-4o-mini");
const telemetry = (functionId: string) => ({
  isEnabled: true,
  functionId,
  metadata: { sessionId: "support-4711" },
});
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
  experimental_telemetry: telemetry("answer"),
});
console.log(text);

const { textStream } = streamText({
  model,
  prompt: "What should I wear?",
  experimental_telemetry: telemetry("advise"),
});
for await (const piece of textStream) process.stdout.write(piece);
await provider.shutdown();
