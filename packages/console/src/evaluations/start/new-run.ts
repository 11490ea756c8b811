import { evaluateModel, evaluationCreate, objCreate } from "@heddle/client/tracing";
import type { BrowserSession } from "../../session/session.js";
import { linkToProject } from "../../project/project-link.js";
import { refOf } from "./use-choices.js";

/** The class of models that the service runs by itself. */
export const runnableClass = "LLMStructuredCompletionModel";

/** A model that is stored before it is run. */
interface NewModel {
  name: string;
  /** `<provider>/<model>`. */
  served: string;
  /** With columns of the dataset in braces. */
  prompt: string;
}

export interface NewRun {
  name: string;
  dataset: string;
  model: string | NewModel;
  scorers: readonly string[];
  /** A column that outputs are compared with, by a scorer of its own. */
  exact: string | undefined;
  trials: number;
}

/** Text as a name of objects: what they may not have becomes `-`. */
export const asObjectId = (text: string): string =>
  text
    .trim()
    .replaceAll(/[^\p{L}\p{M}\p{N}_.-]+/gu, "-")
    .slice(0, 100);

/** Stores what the run is made of and begins it; equal content is the same version, so runs can be compared. */
export async function startRun(
  { connection }: BrowserSession,
  projectId: string,
  { name, dataset, model, scorers, exact, trials }: NewRun,
  retryIdOf: (of: string) => string,
): Promise<{ runId: string; evaluation: string }> {
  const store = async (objectId: string, className: string, val: Record<string, unknown>) => {
    const obj = { project_id: projectId, object_id: objectId, builtin_object_class: className, val };
    return refOf(projectId, objectId, (await objCreate(connection, { obj })).digest);
  };
  const modelRef =
    typeof model === "string"
      ? model
      : await store(asObjectId(model.name), runnableClass, {
          llm_model_id: model.served.trim(),
          default_params: { messages_template: [{ role: "user", content: model.prompt }] },
        });
  const matched =
    exact === undefined
      ? []
      : [
          await store(`exact-${asObjectId(exact)}`, "ExactMatchScorer", {
            name: `exact_${exact}`,
            ignore_case: true,
            column_map: { expected: exact },
          }),
        ];
  const { evaluation_ref: evaluation } = await evaluationCreate(connection, {
    ...linkToProject(projectId).params,
    name,
    dataset,
    scorers: [...scorers, ...matched],
    trials,
  });
  const request = { project_id: projectId, evaluation_ref: evaluation, model_ref: modelRef };
  const retryId = retryIdOf(`${evaluation} ${modelRef}`);
  return { runId: (await evaluateModel(connection, request, { retryId })).call_id, evaluation };
}
