import { createRl, eventsOf } from "../../training/jobs.js";
import { choice, trajectory } from "../../training/trajectories.js";
import type { TestService } from "../../test-service.js";
import { newProject } from "../../test-service.js";
import { writeRun } from "../evaluations/write-run.js";
import { writeCalls } from "../write-calls.js";
import { hostile } from "./screens.js";
import type { Screens } from "./screens.js";

/** A project with a hostile text wherever the screens to judge and to train show one, and these screens. */
export async function fillJudgeAndTrain(service: TestService): Promise<Screens> {
  const projectId = newProject("local");
  const [entity = "", project = ""] = projectId.split("/");
  const tracing = service.tracing();
  const training = service.training();
  const text = JSON.stringify(hostile);
  const messages = `[{"role":"system","content":${text}},{"role":"user","content":[{"type":"text","text":${text}}]}]`;
  await writeCalls(service, projectId, [
    {
      id: "chat",
      name: hostile,
      ms: 5,
      inputs: `{"model":${text},"messages":${messages},${text}:1,"stop":[${text}]}`,
      output: `{"choices":[{"message":{"role":"assistant","content":${text}}}]}`,
    },
    { id: "other", name: hostile, at: 10, ms: 5, inputs: `{${text}:${text}}`, exception: hostile },
    { id: "below", name: hostile, trace: "other", parent: "other", at: 11, ms: 1, output: text },
  ]);
  const row = (output: string, correct: boolean) => ({
    inputs: { [hostile]: hostile, expected: hostile },
    output,
    scores: { [hostile]: { [hostile]: correct, reason: hostile } },
  });
  const base = await writeRun(service, projectId, { model: "base", rows: [row(hostile, true)] });
  const run = await writeRun(service, projectId, { model: "next", rows: [row(`other ${hostile}`, false)] });
  const { digest } = await tracing.objCreate({
    obj: {
      project_id: projectId,
      object_id: "field",
      builtin_object_class: "AnnotationSpec",
      val: { name: hostile, description: hostile, field_schema: { type: "string", enum: [hostile, "no"] } },
    },
  });
  const { id: queueId } = await tracing.annotationQueueCreate({
    project_id: projectId,
    // Which has no control characters.
    name: hostile.replaceAll("\u001B", ""),
    description: hostile,
    scorer_refs: [`weave:///${projectId}/object/field:${digest}`],
  });
  await tracing.annotationQueueAddCalls({
    project_id: projectId,
    queue_id: queueId,
    call_ids: ["chat", "other"],
    display_fields: ["inputs", "output"],
  });
  await tracing.datasetCreate({ entity, project, name: "questions", rows: [{ [hostile]: hostile }] });
  const model = await training.createModel({ entity, project, name: "agent", base_model: "random:tiny" });
  const job = await createRl(training, {
    model_id: model.id,
    trajectory_groups: [
      { trajectories: [1, 0].map((reward) => ({ ...trajectory(reward, choice(hostile), hostile), logs: [hostile] })) },
    ],
    experimental_config: { [hostile.slice(0, 40)]: hostile },
  });
  await eventsOf(service, job.id);
  const { url } = await tracing.shareCreate({ project_id: projectId, trace_id: "other" });
  return {
    share: `console/share${new URL(url).hash}`,
    screens: {
      "evaluation runs": {
        path: `${projectId}/evaluations`,
        ready: "text=2 runs",
        changes: ["Run an evaluation", "Delete the run"],
      },
      "two runs compared": {
        path: `${projectId}/evaluations?base=${base}&vs=${run}&open=1`,
        ready: "role=region[name=Row] >> text=row 1 of 1",
      },
      "a run that is begun": {
        path: `${projectId}/evaluations?dialog=start`,
        ready: "role=dialog >> form",
        saysWhy: true,
      },
      queues: { path: `${projectId}/queues`, ready: ".grid-body .grid-row", changes: ["Make a queue"] },
      "an item of a queue": { path: `${projectId}/queues/${queueId}`, ready: ".queue h1", saysWhy: true },
      playground: {
        path: `${projectId}/play?call=chat`,
        ready: "role=region[name=Recorded]",
        changes: ["Run", "Save as a prompt"],
        saysWhy: true,
      },
      "two traces compared": { path: `${projectId}/compare?a=chat&b=other`, ready: ".tree-body .tree-row" },
      "training jobs": {
        path: `${projectId}/training`,
        ready: "text=1 job",
        changes: ["Cancel the job"],
      },
      "a trained model with its rollouts": {
        path: `${projectId}/training/${model.id}`,
        ready: "role=region[name=Rollouts] >> role=article",
      },
      "training on calls": {
        path: `${projectId}/calls?chosen=*&act=train`,
        ready: "role=dialog >> .action-form",
        saysWhy: true,
      },
    },
  };
}
