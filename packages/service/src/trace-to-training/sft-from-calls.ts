import type { Caller, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError, mapErrors } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import { leafAt } from "@heddle/trace-model";
import { artifactUri } from "../artifacts/artifact-uri.js";
import { storeContent } from "../artifacts/store-content.js";
import type { FromCallsServices } from "./from-calls-services.js";
import { createSftJob } from "../training-jobs/create-job.js";
import { linkCalls } from "./link-calls.js";
import { selectCalls } from "./select-calls.js";
import type { SelectedCall, Selection } from "./select-calls.js";

export interface SftFromCalls {
  caller: Caller;
  model: TrainingModel;
  idempotencyKey: string | undefined;
  request: Schemas["CreateSftTrainingJobFromCallsReq"];
  signal: AbortSignal;
}

/** Makes an artifact version of calls and an SFT job that is trained on it, and links the calls with the job. */
export async function createSftJobFromCalls(
  services: FromCallsServices,
  { caller, model, idempotencyKey, request, signal }: SftFromCalls,
): Promise<{ job: TrainingJobRecord; artifact: string; selection: Selection }> {
  const { calls, reward, min_reward, artifact_name: name = `${model.name}-calls`, config } = request;
  if (min_reward !== undefined && reward === undefined) {
    throw new HeddleError("unprocessable", "is needed with min_reward", { loc: ["reward"] });
  }
  const selection = await selectCalls(
    services,
    {
      model,
      calls,
      reward,
      groupOf(_call, _completion, found) {
        if (min_reward === undefined) return { key: "" };
        if (found === undefined) return "no_reward";
        return found < min_reward ? "low_reward" : { key: "" };
      },
    },
    signal,
  );
  const { project_id } = model;
  const { sha256 } = await storeContent(services, project_id, linesOf(selection.calls));
  const { version } = await mapErrors(atArtifactName, () =>
    services.control.artifacts.commit({
      project_id,
      name,
      type: "dataset",
      created_by: caller.user_id,
      deduplicate: true,
      description: `Calls as examples for the model ${model.name}`,
      metadata: JSON.stringify({ format: "jsonl", num_trajectories: selection.calls.length }),
      files: [{ path: "train.jsonl", sha256 }],
    }),
  );
  const artifact = artifactUri({ project_id, name, selector: `v${version.index}` });
  const job = await createSftJob(services, {
    caller,
    model,
    idempotencyKey,
    dataUrl: artifact,
    experimentalConfig: {},
    force: false,
    config: { assistant_turns: "last", ...config },
    callIds: selection.calls.map(({ id }) => id),
  });
  await linkCalls(services, caller, { job, model, calls: selection.calls });
  return { job, artifact, selection };
}

async function* linesOf(calls: readonly SelectedCall[]): AsyncGenerator<Uint8Array> {
  for (const { messages, choice, tools } of calls) {
    const list = [...messages, leafAt(choice, ["message"]) ?? "null"].join(",");
    const row = `{"messages":[${list}]${tools === undefined ? "" : `,"tools":${tools}`}}`;
    // Between the tokens of JSON, line breaks are spaces; there are none inside them.
    yield Buffer.from(`${row.replaceAll(/[\r\n]/g, " ")}\n`);
  }
}

/** The name of the artifact is the only part of a version that the request gives. */
function atArtifactName(error: HeddleError): HeddleError {
  return error.loc === undefined ? error : error.with({ loc: ["artifact_name"] });
}
