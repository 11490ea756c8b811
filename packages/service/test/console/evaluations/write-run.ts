import type { TestService } from "../../test-service.js";

export interface Row {
  inputs: Record<string, unknown>;
  output: unknown;
  /** By scorer. */
  scores: Record<string, unknown>;
}

/** Records a run as a program does by the operations; returns its id. */
export async function writeRun(
  service: TestService,
  projectId: string,
  { model = "model", rows, finish = true }: { model?: string; rows: readonly Row[]; finish?: boolean },
): Promise<string> {
  const tracing = service.tracing();
  const [entity = "", project = ""] = projectId.split("/");
  const path = { entity, project };
  const ref = (name: string) => `weave:///${projectId}/object/${name}:YHEjUAIs6OriWOCtnYQAcO0aJ40WXrVYbu0Qa7HwLuw`;
  const { evaluation_run_id: id } = await tracing.evaluationRunCreate({
    ...path,
    evaluation: ref("exam"),
    model: ref(model),
  });
  for (const { inputs, output, scores } of rows) {
    const { prediction_id } = await tracing.predictionCreate({
      ...path,
      model: ref(model),
      inputs,
      output,
      evaluation_run_id: id,
    });
    for (const [scorer, value] of Object.entries(scores))
      await tracing.scoreCreate({ ...path, prediction_id, scorer: ref(scorer), value });
    await tracing.predictionFinish({ ...path, prediction_id });
  }
  if (finish) await tracing.evaluationRunFinish({ ...path, evaluation_run_id: id });
  return id;
}
