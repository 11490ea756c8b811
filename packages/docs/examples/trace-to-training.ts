// Trains a model on its own traces: asks it, rates the recorded calls, trains on them, and asks again.
// Start the service, then: npx tsx trace-to-training.ts [rounds]
import { setTimeout as delay } from "node:timers/promises";
import { createTracingClient, createTrainingClient } from "@heddle/client";

const options = { baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680", apiKey: process.env.HEDDLE_API_KEY };
const tracing = createTracingClient(options);
const training = createTrainingClient(options);
const rounds = Number(process.argv[2] ?? 15);
const projectId = "local/trace-to-training";
const prompts = [
  "respond with yes, no, maybe",
  "respond with 'maybe', 'yes', 'no'",
  "just respond with no, maybe, yes",
  "just respond with 'yes', 'maybe', 'no'",
  "respond with no, yes, maybe",
  "just respond with 'maybe', 'no', 'yes'",
];
const asked = 8;

const model = await training.createModel({
  entity: "local",
  project: "trace-to-training",
  name: `maybe-${Date.now().toString(36)}`,
  base_model: "heddle/starter",
});

/** The calls that the service has recorded of this round, once all of them are there. */
async function recorded(since: string) {
  const startedAt = { $getField: "started_at" };
  for (;;) {
    const { calls } = await tracing.callsQuery({
      project_id: projectId,
      filter: { op_names: ["heddle.chat.completions"] },
      query: { $expr: { $gte: [startedAt, { $literal: since }] } },
    });
    if (calls.length >= prompts.length * asked && calls.every(({ ended_at }) => ended_at)) return calls;
    await delay(100);
  }
}

/** What a person would do in the console: say how good each answer is. */
async function rate(call: { id: string; output?: unknown }): Promise<number> {
  const { choices } = call.output as { choices: { message: { content: string | null } }[] };
  const value = { maybe: 1, no: 0.75, yes: 0.5 }[choices[0]?.message.content?.trim() ?? ""] ?? 0;
  await tracing.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/${call.id}`,
    feedback_type: "quality",
    payload: { value },
  });
  return value;
}

for (let round = 1; round <= rounds; round++) {
  const since = new Date().toISOString();
  for (const content of prompts) {
    const ask = async () =>
      training.createChatCompletion({
        model: model.inference_name,
        messages: [{ role: "user", content }],
        max_completion_tokens: 12,
      });
    await Promise.all(Array.from({ length: asked }, ask));
  }
  const calls = await recorded(since);
  const ratings = await Promise.all(calls.map(rate));
  const mean = ratings.reduce((sum, rating) => sum + rating, 0) / ratings.length;
  const bar = "█".repeat(Math.round(20 * mean)).padEnd(20, "·");
  console.log(`round ${String(round).padStart(2)} of ${rounds}  ${bar}  mean rating ${mean.toFixed(2)}`);

  const { job } = await training.createRlTrainingJobFromCalls({
    model_id: model.id,
    calls: { filter: { call_ids: calls.map(({ id }) => id) } },
    reward: { feedback_type: "quality", path: "value" },
    experimental_config: { learning_rate: 1e-3 },
  });
  for await (const { type, data } of training.tailTrainingJobEvents({ training_job_id: job.id }))
    if (type === "training_failed") throw new Error(String(data["error_message"]));
}
console.log(`${options.baseUrl}/console/${projectId}/calls`);
