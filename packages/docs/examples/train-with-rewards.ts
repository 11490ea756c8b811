// Teaches a model to say "maybe": samples answers, rewards them, trains on them, and asks the newest weights again.
// Writes the mean reward of each step as a picture. Start the service, then:
// npx tsx train-with-rewards.ts [steps]
import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { createTrainingClient } from "@heddle/client";

const training = createTrainingClient({
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
});
const steps = Number(process.argv[2] ?? 30);
const prompts = [
  "respond with yes, no, maybe",
  "respond with 'maybe', 'yes', 'no'",
  "just respond with no, maybe, yes",
  "just respond with 'yes', 'maybe', 'no'",
  "respond with no, yes, maybe",
  "just respond with 'maybe', 'no', 'yes'",
];
const rewards = new Map([
  ["yes", 0.5],
  ["no", 0.75],
  ["maybe", 1],
]);

const model = await training.createModel({
  project: "train-with-rewards",
  name: `maybe-${Date.now().toString(36)}`,
  base_model: "heddle/starter",
});

/** Eight answers of the newest weights, as trajectories with their rewards. */
async function askEightTimes(content: string) {
  const messages = [{ role: "user" as const, content }];
  const { choices } = await training.createChatCompletion({
    model: model.inference_name,
    messages,
    n: 8,
    max_completion_tokens: 12,
  });
  return {
    trajectories: choices.map((choice) => ({
      // The choice as it came: its token ids and log-probabilities are what is trained on.
      messages_and_choices: [...messages, choice],
      reward: rewards.get(choice.message.content?.trim() ?? "") ?? 0,
    })),
  };
}

/** Waits until a job has made the next checkpoint. */
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
  const groups = await Promise.all(prompts.map(askEightTimes));
  const earned = groups.flatMap(({ trajectories }) => trajectories.map(({ reward }) => reward));
  curve.push(earned.reduce((sum, reward) => sum + reward, 0) / earned.length);
  const bar = "█".repeat(Math.round(20 * (curve.at(-1) ?? 0))).padEnd(20, "·");
  console.log(`step ${String(step).padStart(2)} of ${steps}  ${bar}  mean reward ${curve.at(-1)?.toFixed(2)}`);
  const { id } = await training.createRlTrainingJob({
    model_id: model.id,
    trajectory_groups: groups,
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
<text x="40" y="24">Mean reward of the answers</text>
<polyline points="${points.join(" ")}" fill="none" stroke="#2563a8" stroke-width="2"/>
</svg>
`,
);
const [answer] = (
  await training.createChatCompletion({
    model: model.inference_name,
    messages: [{ role: "user", content: "respond with yes, no, maybe" }],
    temperature: 0,
    max_completion_tokens: 12,
  })
).choices;
console.log(`${model.inference_name} now answers "${answer?.message.content}"; the curve is in rewards.svg`);
