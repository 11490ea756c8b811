import type { Caller, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import type { Schemas } from "@heddle/server-stub/training";
import { leafAt } from "@heddle/trace-model";
import { previewPreferences } from "@heddle/training";
import { createPreferenceJob, readPreferenceConfig } from "../training-jobs/create-job.js";
import type { FromCallsServices } from "./from-calls-services.js";
import { linkCalls } from "./link-calls.js";
import { callPairs } from "./preference-pairs.js";
import { baseModelOf } from "./preview.js";
import type { PreviewServices, TrainingPreview } from "./preview.js";
import { selectCalls } from "./select-calls.js";
import { statedPairs } from "./stated-pairs.js";
import type { CallSelector, SelectedCall, Selection } from "./select-calls.js";
import { storeExamples } from "./store-examples.js";

export interface PreferenceFromCalls {
  caller: Caller;
  model: TrainingModel;
  idempotencyKey: string | undefined;
  request: Schemas["CreatePreferenceTrainingJobFromCallsReq"];
  signal: AbortSignal;
}

/** What the calls of one row are, the better one of a pair first. */
interface CallRow {
  calls: SelectedCall[];
  text: JsonText;
}

interface SelectedRows {
  rows: CallRow[];
  isPairs: boolean;
  skipped: Selection["skipped"];
  warnings: string[];
}

/** Makes an artifact version of the pairs or ratings that calls are, and a job that is trained on it. */
export async function createPreferenceJobFromCalls(
  services: FromCallsServices,
  { caller, model, idempotencyKey, request, signal }: PreferenceFromCalls,
): Promise<{ job: TrainingJobRecord; artifact: string; pairs: number | null; selection: Selection }> {
  const { artifact_name: name = `${model.name}-preferences`, config = {} } = request;
  const { rows, isPairs, skipped } = await selectRows(services, { model, request, signal });
  const calls = differentCalls(rows);
  const dataUrl = await storeExamples(services, {
    caller,
    model,
    name,
    path: "preferences.jsonl",
    description: `What is thought of calls, for the model ${model.name}`,
    rows: rows.map(({ text }) => text),
  });
  const callIds = calls.map(({ id }) => id);
  const settings = { caller, model, idempotencyKey, dataUrl, config, force: false, callIds };
  const job = await createPreferenceJob(services, settings);
  await linkCalls(services, caller, { job, model, calls });
  return { job, artifact: dataUrl, pairs: isPairs ? rows.length : null, selection: { calls, skipped } };
}

/** Rows of a preview. */
const listed = { pairs: 500, ratings: 1000 };

/** What a job of the same request would be trained on, and why it would fail. Starts and stores nothing. */
export async function previewPreferencesFromCalls(
  services: PreviewServices,
  { caller, model, request, signal }: Omit<PreferenceFromCalls, "idempotencyKey">,
): Promise<TrainingPreview> {
  const selected = await selectRows(services, { model, request, signal, mayBeEmpty: true });
  const { rows, isPairs, skipped, warnings } = selected;
  const first = rows.slice(0, isPairs ? listed.pairs : listed.ratings);
  const { rows: summaries, error } = await previewPreferences({
    rows: first.map(({ text }, at) => ({ line: at + 1, row: JSON.parse(text) as unknown })),
    config: request.config,
    ...(await baseModelOf(services, model, { caller, signal })),
  });
  const groups = first.map(({ calls }, at) => {
    const { sizes = [], leftOut = null } = summaries[at] ?? {};
    const previewed = calls.map(({ id, reward = null }, index) => {
      const { tokens = null, trainedTokens = 0 } = sizes[index] ?? {};
      return { id, reward, advantage: null, tokens, trained_tokens: trainedTokens, skipped: leftOut };
    });
    return { key: null, num_calls: calls.length, calls: previewed };
  });
  const { length: numCalls } = differentCalls(rows);
  return {
    num_calls: numCalls,
    num_groups: isPairs ? rows.length : null,
    groups: isPairs ? groups : [{ key: null, num_calls: numCalls, calls: groups.flatMap(({ calls }) => calls) }],
    skipped,
    warnings,
    error_message: error?.message ?? null,
  };
}

/** A call may be in several pairs. */
function differentCalls(rows: readonly CallRow[]): SelectedCall[] {
  return [...new Map(rows.flatMap(({ calls }) => calls.map((call) => [call.id, call]))).values()];
}

async function selectRows(
  services: FromCallsServices,
  {
    model,
    request,
    signal,
    mayBeEmpty = false,
  }: Pick<PreferenceFromCalls, "model" | "request" | "signal"> & {
    mayBeEmpty?: boolean;
  },
): Promise<SelectedRows> {
  const { calls, reward, min_reward, min_margin } = request;
  const { objective, warnings } = readPreferenceConfig(request.config ?? {});
  if (objective === "kto") {
    if (reward === undefined) {
      throw new HeddleError("unprocessable", "is needed with the objective kto", { loc: ["reward"] });
    }
    const selection = await selectCalls(services, { model, calls, reward, mayBeEmpty, groupOf: withReward }, signal);
    const rows = selection.calls.map((call) => ({ calls: [call], text: ratingOf(call, min_reward) }));
    return { rows, isPairs: false, skipped: selection.skipped, warnings };
  }
  const { pairs, alone, skipped } =
    reward === undefined
      ? await statedPairs(services, { model, calls, minVotes: min_margin, mayBeEmpty }, signal)
      : await rewardedPairs(services, { model, calls, reward, minMargin: min_margin, mayBeEmpty }, signal);
  if (pairs.length === 0 && !mayBeEmpty) {
    const why =
      reward === undefined
        ? `none of the selected calls is preferred to a call with the same messages that can be used`
        : `no two of the ${alone.length} calls have the same messages and rewards that differ enough`;
    throw new HeddleError("unprocessable", why, { loc: ["calls"] });
  }
  const [example] = alone;
  return {
    rows: pairs.map(({ chosen, rejected }) => ({
      calls: [chosen, rejected],
      text: rowOf(chosen, { chosen: answerOf(chosen), rejected: answerOf(rejected) }),
    })),
    isPairs: true,
    skipped: example ? [...skipped, { reason: "no_pair", count: alone.length, example: example.id }] : skipped,
    warnings,
  };
}

const withReward: CallSelector["groupOf"] = (_call, _completion, found) =>
  found === undefined ? "no_reward" : { key: "" };

/** Pairs by the rewards of calls. */
async function rewardedPairs(
  services: FromCallsServices,
  { minMargin, ...request }: Omit<CallSelector, "groupOf"> & { minMargin: number },
  signal: AbortSignal,
) {
  const selection = await selectCalls(services, { ...request, groupOf: withReward }, signal);
  return { ...callPairs(selection.calls, minMargin), skipped: selection.skipped };
}

function ratingOf(call: SelectedCall, minReward: number): JsonText {
  return rowOf(call, { completion: answerOf(call), label: String((call.reward ?? 0) >= minReward) });
}

function rowOf({ messages, tools }: SelectedCall, members: Record<string, JsonText>): JsonText {
  const texts = { prompt: `[${messages.join(",")}]`, ...members, ...(tools !== undefined && { tools }) };
  return `{${Object.entries(texts)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(",")}}`;
}

function answerOf({ choice }: SelectedCall): JsonText {
  return leafAt(choice, ["message"]) ?? "null";
}
