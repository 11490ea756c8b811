// Evaluates the model heddle/starter at two temperatures on the same rows, and prints both runs as a table.
// Start the service, then: npx tsx evaluate-a-model.ts
import { createTracingClient, createTrainingClient } from "@heddle/client";

const options = { baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680", apiKey: process.env.HEDDLE_API_KEY };
const tracing = createTracingClient(options);
const training = createTrainingClient(options);
const at = { entity: "local", project: "evaluate-a-model" };

const rows = [
  { question: "respond with yes, no, maybe", allowed: ["yes", "no", "maybe"] },
  { question: "just respond with 'yes', 'maybe', 'no'", allowed: ["yes", "no", "maybe"] },
  { question: "respond with no or maybe", allowed: ["no", "maybe"] },
  { question: "respond with yes or no", allowed: ["yes", "no"] },
];

const dataset = await tracing.datasetCreate({ ...at, name: "Choices", rows });
const { scorer } = await tracing.scorerCreate({
  ...at,
  name: "Allowed",
  op_source_code: "def score(output, allowed):\n    return output in allowed\n",
});
const { evaluation_ref: evaluation } = await tracing.evaluationCreate({
  ...at,
  name: "Choose",
  dataset: `weave:///${at.entity}/${at.project}/object/${dataset.object_id}:${dataset.digest}`,
  scorers: [scorer],
});

/** Asks the model each question, and records answers and scores as a run. */
async function evaluate(temperature: number): Promise<string> {
  const { model_ref: model } = await tracing.modelCreate({
    ...at,
    name: `Starter at ${temperature}`,
    source_code: "class Starter(Model):\n    def predict(self, question): ...\n",
    attributes: { temperature },
  });
  const { evaluation_run_id } = await tracing.evaluationRunCreate({ ...at, evaluation, model });
  for (const row of rows) {
    const { choices } = await training.createChatCompletion({
      model: "heddle/starter",
      messages: [{ role: "user", content: row.question }],
      temperature,
      max_completion_tokens: 12,
    });
    const output = choices[0]?.message.content?.trim() ?? "";
    const { prediction_id } = await tracing.predictionCreate({ ...at, evaluation_run_id, model, inputs: row, output });
    await tracing.scoreCreate({ ...at, prediction_id, scorer, value: row.allowed.includes(output) });
    await tracing.predictionFinish({ ...at, prediction_id });
  }
  await tracing.evaluationRunFinish({ ...at, evaluation_run_id });
  return evaluation_run_id;
}

const runs = [await evaluate(0), await evaluate(1)];

const results = await tracing.evalResultsQuery({ ...at, evaluation_run_ids: runs, include_raw_data_rows: true });
const line = (...cells: string[]) => console.log(cells.map((cell) => cell.slice(0, 40).padEnd(42)).join(""));
line("QUESTION", "AT 0", "AT 1");
for (const { raw_data_row, evaluations } of results.rows) {
  const answers = runs.map((run) => {
    const trial = evaluations?.find(({ evaluation_call_id }) => evaluation_call_id === run)?.trials?.[0];
    const isRight = Object.values(trial?.scores ?? {}).includes(true);
    return `${isRight ? "✓" : "✗"} ${JSON.stringify(trial?.model_output)}`;
  });
  line(String((raw_data_row as { question?: string }).question), ...answers);
}
console.log(`${options.baseUrl}/console/${at.entity}/${at.project}/evaluations`);
