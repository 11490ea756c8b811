import type { Caller, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas } from "@heddle/server-stub/training";
import { leafAt } from "@heddle/trace-model";
import { heldOutRows, previewRows } from "@heddle/training";
import { baseModelOf } from "./preview.js";
import type { PreviewServices, TrainingPreview } from "./preview.js";
import type { FromCallsServices } from "./from-calls-services.js";
import { createSftJob } from "../training-jobs/create-job.js";
import { linkCalls } from "./link-calls.js";
import { selectCalls } from "./select-calls.js";
import { storeExamples } from "./store-examples.js";
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
): Promise<{ job: TrainingJobRecord; artifact: string; trained: number; selection: Selection }> {
  const { artifact_name: name = `${model.name}-calls` } = request;
  const selection = await selectExamples(services, { model, request, signal });
  const artifact = await storeExamples(services, {
    caller,
    model,
    name,
    path: "train.jsonl",
    description: `Calls as examples for the model ${model.name}`,
    rows: selection.calls.map(rowOf),
  });
  const job = await createSftJob(services, {
    caller,
    model,
    idempotencyKey,
    dataUrl: artifact,
    experimentalConfig: {},
    force: false,
    config: configOf(request),
    callIds: selection.calls.map(({ id }) => id),
  });
  await linkCalls(services, caller, { job, model, calls: selection.calls });
  const rows = selection.calls.length;
  return { job, artifact, trained: rows - heldOutRows(configOf(request), rows), selection };
}

/** Examples of a preview. */
const shownExamples = 1000;

/** What a job of the same request would be trained on, and why it would fail. Starts and stores nothing. */
export async function previewSftFromCalls(
  services: PreviewServices,
  { caller, model, request, signal }: Omit<SftFromCalls, "idempotencyKey">,
): Promise<TrainingPreview> {
  const { calls, skipped } = await selectExamples(services, { model, request, signal, mayBeEmpty: true });
  const firstCalls = calls.slice(0, shownExamples);
  const { rows, heldOut, error } = await previewRows({
    rows: firstCalls.map((call, at) => ({ line: at + 1, row: JSON.parse(rowOf(call)) as unknown })),
    totalRows: calls.length,
    config: { ...configOf(request), learning_rate: null },
    ...(await baseModelOf(services, model, { caller, signal })),
  });
  return {
    num_calls: calls.length - heldOut,
    num_groups: null,
    groups: [
      {
        key: null,
        num_calls: calls.length,
        calls: firstCalls.map(({ id, reward = null }, at) => {
          const { tokens = null, trainedTokens = 0, tooLong = false, isHeldOut = false } = rows[at] ?? {};
          return {
            id,
            reward,
            advantage: null,
            tokens,
            trained_tokens: trainedTokens,
            skipped: isHeldOut ? "held_out" : tooLong ? "too_long" : null,
          };
        }),
      },
    ],
    skipped,
    warnings: [],
    error_message: error?.message ?? null,
  };
}

const configOf = ({ config }: SftFromCalls["request"]) => ({ assistant_turns: "last", ...config });

async function selectExamples(
  services: FromCallsServices,
  { model, request, signal, mayBeEmpty }: Pick<SftFromCalls, "model" | "request" | "signal"> & { mayBeEmpty?: boolean },
): Promise<Selection> {
  const { calls, reward, min_reward } = request;
  if (min_reward !== undefined && reward === undefined) {
    throw new HeddleError("unprocessable", "is needed with min_reward", { loc: ["reward"] });
  }
  return await selectCalls(
    services,
    {
      model,
      calls,
      reward,
      mayBeEmpty,
      groupOf(_call, _completion, found) {
        if (min_reward === undefined) return { key: "" };
        if (found === undefined) return "no_reward";
        return found < min_reward ? "low_reward" : { key: "" };
      },
    },
    signal,
  );
}

function rowOf({ messages, choice, tools }: SelectedCall): string {
  const list = [...messages, leafAt(choice, ["message"]) ?? "null"].join(",");
  return `{"messages":[${list}]${tools === undefined ? "" : `,"tools":${tools}`}}`;
}
