// Makes a model better by thumbs: it answers, each answer gets a 👍 or 👎 as people give them in the console, and a job
// learns from what was recorded. Writes the share of 👍 of each round as a picture. Start the service, then:
// npx tsx learn-from-thumbs.ts [rounds]
import { writeFile } from "node:fs/promises";
import { createTracingClient } from "@heddle/client/tracing";
import { createTrainingClient } from "@heddle/client/training";

const options = {
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
};
const training = createTrainingClient(options);
const tracing = createTracingClient(options);
const rounds = Number(process.argv[2] ?? 10);
const answersOfRound = 48;
const prompts = [
  "respond with yes, no, maybe",
  "respond with 'maybe', 'yes', 'no'",
  "just respond with no, maybe, yes",
  "just respond with 'yes', 'maybe', 'no'",
  "respond with no, yes, maybe",
  "just respond with 'maybe', 'no', 'yes'",
];
/** Stands for the people who read the answers. */
const isLiked = (answer: string) => answer.trim() === "maybe";

const name = `thumbs-${Date.now().toString(36)}`;
const model = await training.createModel({ project: name, name: "assistant", base_model: "heddle/starter" });
const projectId = `${model.entity}/${model.project}`;
const newest = {
  filter: { op_names: ["heddle.chat.completions"] },
  sort_by: [{ field: "started_at", direction: "desc" as const }],
  limit: answersOfRound,
};

/** Asks the newest weights, which records calls, and returns the share of the answers that got a 👍. */
async function answerAndReact(): Promise<number> {
  const asked = Array.from({ length: answersOfRound }, (_, at) => prompts[at % prompts.length] ?? "");
  await Promise.all(
    asked.map((content) =>
      training.createChatCompletion({
        model: model.inference_name,
        messages: [{ role: "user", content }],
        max_completion_tokens: 12,
      }),
    ),
  );
  const { calls } = await tracing.callsQuery({ project_id: projectId, ...newest });
  const reactions = calls.map(({ id, output }) => {
    const { choices } = output as { choices: { message: { content: string | null } }[] };
    return {
      project_id: projectId,
      weave_ref: `weave:///${projectId}/call/${id}`,
      feedback_type: "wandb.reaction.1",
      payload: { emoji: isLiked(choices[0]?.message.content ?? "") ? "👍" : "👎" },
    };
  });
  await tracing.feedbackCreateBatch({ batch: reactions });
  return reactions.filter(({ payload }) => payload.emoji === "👍").length / reactions.length;
}

const curve: number[] = [];
for (let round = 1; round <= rounds; round++) {
  curve.push(await answerAndReact());
  const bar = "█".repeat(Math.round(20 * (curve.at(-1) ?? 0))).padEnd(20, "·");
  console.log(`round ${String(round).padStart(2)} of ${rounds}  ${bar}  ${Math.round(100 * (curve.at(-1) ?? 0))} % 👍`);
  // Answers that are all liked, or none, have nothing to compare.
  if (curve.at(-1) === 1 || curve.at(-1) === 0) continue;
  const { job } = await training.createPreferenceTrainingJobFromCalls({
    model_id: model.id,
    calls: newest,
    reward: { feedback_type: "wandb.reaction.1", path: "emoji" },
    config: { objective: "kto", batch_size: 16, num_epochs: 2, learning_rate: 5e-4 },
  });
  for await (const { type, data } of training.tailTrainingJobEvents({ training_job_id: job.id })) {
    if (type === "training_failed") throw new Error(String(data["error_message"]));
  }
}

const points = curve.map((share, at) => `${40 + (560 * at) / Math.max(1, curve.length - 1)},${260 - 220 * share}`);
await writeFile(
  "thumbs.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="12">
<rect width="640" height="300" fill="#fff"/>
<path d="M40 40V260H600" fill="none" stroke="#888"/>
<text x="8" y="44">100 %</text><text x="8" y="264">0</text><text x="40" y="284">round 1</text><text x="550" y="284">round ${rounds}</text>
<text x="40" y="24">Share of answers with a thumb up</text>
<polyline points="${points.join(" ")}" fill="none" stroke="#2563a8" stroke-width="2"/>
</svg>
`,
);
console.log(`${model.inference_name} is trained; the curve is in thumbs.svg`);
