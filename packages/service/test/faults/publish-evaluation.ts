import { weaveObject } from "../weave-object.js";
import type { Wire } from "./wire.js";

/** Publishes an evaluation with its dataset of `rows` slow prompts, its scorers and a model of the provider `acme`. */
export async function publishEvaluation(
  client: Wire,
  { projectId, rows, trials }: { projectId: string; rows: number; trials: number },
) {
  const store = async (objectId: string, val: object, builtin?: string) => {
    const obj = { project_id: projectId, object_id: objectId, val, builtin_object_class: builtin };
    const { digest } = await client.ask<{ digest: string }>("/obj/create", { obj });
    return `weave:///${projectId}/object/${objectId}:${digest}`;
  };
  const prompts = Array.from({ length: rows }, (_, n) => ({ prompt: `slow: ${n}`, expected: `${n}` }));
  const table = { project_id: projectId, rows: prompts };
  const { digest } = await client.ask<{ digest: string }>("/table/create", { table });
  const dataset = await store("rows", weaveObject("Dataset", { rows: `weave:///${projectId}/table/${digest}` }));
  const exact = await store("exact", {}, "ExactMatchScorer");
  const scorers = [exact, await store("digits", { values: ["1"] }, "ContainsScorer")];
  const params = { messages_template: [{ role: "user", content: "{prompt}" }] };
  const model = { llm_model_id: "acme/loom-8b", default_params: params };
  return {
    run: {
      evaluation_ref: await store("evaluation", weaveObject("Evaluation", { dataset, scorers, trials })),
      model_ref: await store("model", model, "LLMStructuredCompletionModel"),
    },
    scorer: exact,
  };
}
