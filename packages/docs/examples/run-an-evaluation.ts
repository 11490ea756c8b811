// Has the service evaluate a model: stores a dataset, scorers, an evaluation and a model, begins a run and waits for it.
// Start the service with HEDDLE_PROVIDERS, then:
// HEDDLE_MODEL=<provider>/<model> npx tsx run-an-evaluation.ts
import { setTimeout as delay } from "node:timers/promises";
import { createTracingClient } from "@heddle/client";

const at = { entity: "local", project: "examples" };
const projectId = "local/examples";
const model = process.env.HEDDLE_MODEL ?? "acme/loom-8b";
const tracing = createTracingClient({
  baseUrl: process.env.HEDDLE_URL ?? "http://127.0.0.1:4680",
  apiKey: process.env.HEDDLE_API_KEY,
});

/** Stores an object of a class that the service runs. */
async function store(objectId: string, className: string, val: Record<string, unknown>): Promise<string> {
  const obj = { project_id: projectId, object_id: objectId, builtin_object_class: className, val };
  const { digest } = await tracing.objCreate({ obj });
  return `weave:///${projectId}/object/${objectId}:${digest}`;
}

const dataset = await tracing.datasetCreate({
  ...at,
  name: "Weaving questions",
  rows: [
    { question: "Which threads does a heddle lift?", expected: "warp" },
    { question: "What carries the weft through the shed?", expected: "shuttle" },
  ],
});
const { evaluation_ref } = await tracing.evaluationCreate({
  ...at,
  name: "Weaving",
  dataset: `weave:///${projectId}/object/${dataset.object_id}:${dataset.digest}`,
  scorers: [
    await store("names-it", "ContainsScorer", { ignore_case: true }),
    await store("in-one-word", "RegexScorer", { pattern: "^\\w+[.]?$" }),
  ],
  trials: 2,
});
const modelRef = await store("one-word-answers", "LLMStructuredCompletionModel", {
  llm_model_id: model,
  default_params: {
    messages_template: [{ role: "user", content: "Answer with one word. {question}" }],
    temperature: 0,
  },
});

const { call_id } = await tracing.evaluateModel({ project_id: projectId, evaluation_ref, model_ref: modelRef });
for (;;) {
  const { status } = await tracing.evaluationStatus({ project_id: projectId, call_id });
  if (status.code === "running") console.log(`${status.completed_rows} of ${status.total_rows} rows`);
  if (status.code === "complete") console.log(JSON.stringify(status.output, null, 2));
  if (status.code === "failed") console.error(status.error);
  if (status.code !== "running" && status.code !== "not_found") break;
  await delay(1000);
}
