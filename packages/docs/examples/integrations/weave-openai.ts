// Answers questions with the OpenAI client, traced by weave.
import OpenAI from "openai";
import * as weave from "weave";

const client = await weave.init("local/weave-typescript");
const openai = new OpenAI();
const model = "gpt-4o-mini";
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools: OpenAI.ChatCompletionFunctionTool[] = [
  { type: "function", function: { name: "get_weather", parameters: city } },
];

const getWeather = weave.op(async function get_weather({ city }: { city: string }) {
  return `18 °C in ${city}`;
});

const answer = weave.op(async function answer(question: string) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  const [choice] = (await openai.chat.completions.create({ model, messages, tools })).choices;
  messages.push(choice.message);
  for (const call of choice.message.tool_calls ?? []) {
    if (call.type !== "function") continue;
    const content = await getWeather(JSON.parse(call.function.arguments));
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
  return (await openai.chat.completions.create({ model, messages, tools })).choices[0].message.content;
});

const advise = weave.op(async function advise(question: string) {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  let text = "";
  for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  return text;
});

console.log(await answer("What is the weather in Paris?"));
console.log(await advise("What should I wear?"));
await client.waitForBatchProcessing();
