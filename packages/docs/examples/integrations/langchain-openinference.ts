// An agent of LangChain, traced by OpenInference.
import { setSession } from "@arizeai/openinference-core";
import { LangChainInstrumentation } from "@arizeai/openinference-instrumentation-langchain";
import * as callbackManager from "@langchain/core/callbacks/manager";
import { ChatOpenAI } from "@langchain/openai";
import { context } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbackManager);

const getWeather = tool(({ city }: { city: string }) => `18 °C in ${city}`, {
  name: "get_weather",
  description: "The weather in a city.",
  schema: z.object({ city: z.string() }),
});
const model = new ChatOpenAI({ model: "gpt-4o-mini" });
const agent = createAgent({ model, tools: [getWeather], name: "weather" });

await context.with(setSession(context.active(), { sessionId: "support-4711" }), async () => {
  const question = { role: "user", content: "What is the weather in Paris?" };
  const { messages } = await agent.invoke({ messages: [question] });
  console.log(messages.at(-1)?.content);
  for await (const chunk of await model.stream("What should I wear?")) process.stdout.write(chunk.text);
});
await provider.shutdown();
