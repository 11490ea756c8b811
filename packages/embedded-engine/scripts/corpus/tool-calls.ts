import type { Conversation, Generator, Message, Tool } from "./example.js";
import { spacedJson } from "./spaced-json.js";
import type { Random } from "./random.js";
import { cities, days, names, things } from "./words.js";

interface Use {
  question: string;
  arguments: Record<string, string | number>;
  result: Record<string, string | number>;
  answer: string;
}

interface Teachable {
  tool: Tool;
  use: (random: Random) => Use;
}

function tool(name: string, description: string, properties: Record<string, string>): Tool {
  const described = Object.fromEntries(Object.entries(properties).map(([field, type]) => [field, { type }]));
  const parameters = { type: "object", properties: described, required: Object.keys(properties) };
  return { type: "function", function: { name, description, parameters } };
}

const teachables: Teachable[] = [
  {
    tool: tool("get_weather", "Weather of a city", { city: "string" }),
    use: (random) => {
      const city = random.pick(cities);
      const [sky, degrees] = [random.pick(["sun", "rain", "snow", "fog"]), random.below(35)];
      const question = random.pick([`What is the weather in ${city}?`, `Weather in ${city}?`, `How is ${city} today?`]);
      const answer = `In ${city} there is ${sky} at ${degrees} degrees.`;
      return { question, arguments: { city }, result: { sky, degrees }, answer };
    },
  },
  {
    tool: tool("add", "Add two numbers", { a: "number", b: "number" }),
    use: (random) => {
      const [a, b] = [random.below(100), random.below(100)];
      const question = random.pick([`Use a tool: ${a} + ${b}`, `Add ${a} and ${b} with a tool.`]);
      return { question, arguments: { a, b }, result: { sum: a + b }, answer: `The sum is ${a + b}.` };
    },
  },
  {
    tool: tool("send_message", "Send a text to a person", { to: "string", text: "string" }),
    use: (random) => {
      const to = random.pick(names);
      const text = random.pick(["hello", "see you soon", "call me", "thank you", "I am late", "dinner is ready"]);
      const question = random.pick([`Tell ${to}: ${text}`, `Send ${to} the message: ${text}`]);
      return { question, arguments: { to, text }, result: { status: "sent" }, answer: `I told ${to}.` };
    },
  },
  {
    tool: tool("find_item", "Look up an item in the shop", { item: "string" }),
    use: (random) => {
      const item = random.pick(things);
      const [price, count] = [1 + random.below(90), random.below(30)];
      const question = random.pick([`Do you have a ${item}?`, `How much is a ${item}?`, `Find a ${item}.`]);
      return { question, arguments: { item }, result: { price, count }, answer: `A ${item} costs ${price}.` };
    },
  },
  {
    tool: tool("book_table", "Book a table", { day: "string", people: "number" }),
    use: (random) => {
      const [day, people] = [random.pick(days), 1 + random.below(9)];
      const question = random.pick([`A table for ${people} on ${day}.`, `Book for ${people} on ${day}, please.`]);
      const answer = `Your table for ${people} on ${day} is booked.`;
      return { question, arguments: { day, people }, result: { status: "booked" }, answer };
    },
  },
  {
    tool: tool("count_calls", "Count the calls of a project", { project: "string", status: "string" }),
    use: (random) => {
      const [project, status] = [`local/${random.pick(things)}`, random.pick(["error", "success", "running"])];
      const count = random.below(100);
      const question = `How many calls of ${project} have status ${status}?`;
      return { question, arguments: { project, status }, result: { count }, answer: `There are ${count}.` };
    },
  },
];

/** A question with a list of tools, answered by a call or, when its result is there, by a sentence. */
export const toolCall: Generator = (random): Conversation => {
  const [chosen, ...others] = random.shuffled(teachables);
  if (!chosen) throw new RangeError("no tools");
  const tools = random.shuffled([chosen, ...others.slice(0, random.below(2))]).map((each) => each.tool);
  const use = chosen.use(random);
  const call: Message = {
    role: "assistant",
    content: "",
    tool_calls: [{ type: "function", function: { name: chosen.tool.function.name, arguments: use.arguments } }],
  };
  const messages: Message[] = [{ role: "user", content: use.question }, call];
  const key = `${chosen.tool.function.name} ${Object.values(use.arguments).join(" ")}`;
  if (random.chance(0.7)) return { messages, tools, key };
  messages.push({ role: "tool", content: spacedJson(use.result) }, { role: "assistant", content: use.answer });
  return { messages, tools, key };
};
