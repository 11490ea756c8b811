// Trains an agent that reasons, looks on a shelf by a tool, and reports: its rewards are for looking where the yarn is, for
// reasoning about the shelf that it then looks on, and for a report that is true. Start the service, then:
// npx tsx train-an-agent.ts [steps]
import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { createTrainingClient } from "@heddle/client";

const training = createTrainingClient({
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
});
const steps = Number(process.argv[2] ?? 14);
const shelves = ["left", "middle", "right"];
const tools = [
  {
    type: "function" as const,
    function: {
      name: "look",
      description: "Says what is on a shelf.",
      parameters: { type: "object", properties: { shelf: { type: "string", enum: shelves } }, required: ["shelf"] },
    },
  },
];
const anyShelf = `(${shelves.join("|")})`;
/** A model as small as this one needs to be held to the form; a larger one is left to itself. */
const form = `<think>${anyShelf}</think><tool_call>\\{"name": "look", "arguments": \\{"shelf": "${anyShelf}"\\}\\}</tool_call>`;
const report = ["found", "empty"];

const model = await training.createModel({
  project: "train-an-agent",
  name: `agent-${Date.now().toString(36)}`,
  base_model: "heddle/starter",
});

type Completion = Parameters<typeof training.createChatCompletion>[0];
type Messages = Completion["messages"];

async function ask(messages: Messages, constraint: Completion["structured_outputs"]) {
  const { choices } = await training.createChatCompletion({
    model: model.inference_name,
    messages,
    tools,
    structured_outputs: constraint,
    max_completion_tokens: 80,
  });
  return choices[0]!;
}

/** The agent's loop: think and call, get the result, report. The yarn is on the right shelf, which nobody tells the agent. */
async function episode() {
  const question = { role: "user" as const, content: "Where is the yarn?" };
  const looked = await ask([question], { regex: form });
  const [call] = looked.message.tool_calls ?? [];
  const { shelf } = JSON.parse(call?.function.arguments ?? "{}") as { shelf?: string };
  const result = { role: "tool" as const, tool_call_id: call?.id ?? "", content: shelf === "right" ? "yarn" : "dust" };
  const answer = await ask([question, looked.message as Messages[number], result], { choice: report });
  const reasons = looked.message.reasoning === shelf;
  const isTrue = answer.message.content === (shelf === "right" ? "found" : "empty");
  const reward = (shelf === "right" ? 0.5 : 0) + (reasons ? 0.25 : 0) + (isTrue ? 0.25 : 0);
  // The choices as they came, with the result between them: what the model saw in each turn is trained, and nothing else.
  return { messages_and_choices: [question, looked, result, answer], tools, reward };
}

async function finished(jobId: string): Promise<void> {
  for (;;) {
    for await (const { type, data } of training.listTrainingJobEvents({ training_job_id: jobId })) {
      if (type === "training_ended") return;
      if (type === "training_failed") throw new Error(String(data["error_message"]));
    }
    await delay(200);
  }
}

const curve: number[] = [];
for (let step = 1; step <= steps; step++) {
  const trajectories = await Promise.all(Array.from({ length: 24 }, episode));
  curve.push(trajectories.reduce((sum, { reward }) => sum + reward, 0) / trajectories.length);
  const bar = "█".repeat(Math.round(20 * (curve.at(-1) ?? 0))).padEnd(20, "·");
  console.log(`step ${String(step).padStart(2)} of ${steps}  ${bar}  mean reward ${curve.at(-1)?.toFixed(2)}`);
  const { id } = await training.createRlTrainingJob({
    model_id: model.id,
    trajectory_groups: [{ trajectories }],
    experimental_config: { learning_rate: 1e-3 },
  });
  await finished(id);
}

const points = curve.map((reward, at) => `${40 + (560 * at) / Math.max(1, curve.length - 1)},${260 - 220 * reward}`);
await writeFile(
  "rewards.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="12">
<rect width="640" height="300" fill="#fff"/>
<path d="M40 40V260H600" fill="none" stroke="#888"/>
<text x="8" y="44">1</text><text x="8" y="264">0</text><text x="40" y="284">step 1</text><text x="560" y="284">step ${steps}</text>
<text x="40" y="24">Mean reward of the agent</text>
<polyline points="${points.join(" ")}" fill="none" stroke="#2563a8" stroke-width="2"/>
</svg>
`,
);
const { messages_and_choices: last, reward } = await episode();
console.log(`${model.inference_name} earned ${reward}; its last episode:`);
console.log(
  JSON.stringify(
    last.map((each) => ("message" in each ? each.message : each)),
    null,
    1,
  ),
);
