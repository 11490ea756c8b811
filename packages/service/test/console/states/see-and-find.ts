import { newProject } from "../../test-service.js";
import type { TestService } from "../../test-service.js";
import { writeCalls } from "../write-calls.js";
import { hostile } from "./screens.js";
import type { Screens } from "./screens.js";

/** A project with a hostile text wherever the screens to see and to find show one, and these screens. */
export async function fillSeeAndFind(service: TestService): Promise<Screens> {
  const projectId = newProject("local");
  const [entity = "", project = ""] = projectId.split("/");
  const tracing = service.tracing();
  const text = JSON.stringify(hostile);
  const usage = `{"usage":{${text}:{"requests":1,"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}}`;
  const common = { thread: hostile, turn: "call", attributes: `{${text}:${text}}`, summary: usage };
  await writeCalls(service, projectId, [
    { ...common, id: "call", name: hostile, ms: 5, inputs: `{${text}:${text}}`, output: text },
    { ...common, id: "below", name: hostile, trace: "call", parent: "call", at: 1, ms: 1, exception: hostile },
  ]);
  await tracing.feedbackCreate({
    project_id: projectId,
    weave_ref: `weave:///${projectId}/call/call`,
    feedback_type: "wandb.note.1",
    payload: { note: hostile },
    creator: hostile,
  });
  await tracing.datasetCreate({ entity, project, name: "questions", rows: [{ [hostile]: hostile }] });
  await tracing.objCreate({
    obj: {
      project_id: projectId,
      object_id: "prompt",
      val: {
        _type: "MessagesPrompt",
        _class_name: "MessagesPrompt",
        _bases: ["Prompt", "Object", "BaseModel"],
        description: hostile,
        messages: [{ role: "system", content: hostile }],
      },
    },
  });
  const thread = encodeURIComponent(hostile);
  const rows = ".grid-body .grid-row";
  return {
    screens: {
      projects: { path: "", ready: `.projects >> text=${project}` },
      "the table of calls": { path: `${projectId}/calls`, ready: rows },
      "calls with facets": { path: `${projectId}/calls?panel=facets`, ready: ".facets-field" },
      "a call": { path: `${projectId}/calls/call`, ready: "role=group[name=output]", changes: ["Delete"] },
      "a failed call": { path: `${projectId}/calls/call?span=below`, ready: "text=✗ exception" },
      threads: { path: `${projectId}/threads`, ready: rows },
      "a thread": { path: `${projectId}/threads/${thread}`, ready: ".turn" },
      datasets: { path: `${projectId}/library`, ready: rows },
      "a dataset": { path: `${projectId}/library/datasets/questions/latest`, ready: ".version-part" },
      "a prompt": { path: `${projectId}/library/prompts/prompt/latest`, ready: ".version-part" },
      "usage and costs": {
        path: `${projectId}/settings/usage`,
        ready: "role=region[name='By model'] >> role=row >> nth=1",
      },
      retention: { path: `${projectId}/settings/retention`, ready: ".plain-table" },
      "the check of the system": { path: "settings/system", ready: ".system" },
    },
  };
}
