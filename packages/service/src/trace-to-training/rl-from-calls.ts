import { createHash } from "node:crypto";
import type { Caller, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { Problem } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/training";
import type { FromCallsServices } from "./from-calls-services.js";
import { createRlJob, readRlConfig } from "../training-jobs/create-job.js";
import { packTrajectories } from "../training-jobs/pack-trajectories.js";
import { storeTrajectories } from "../training-jobs/store-trajectories.js";
import { readPacked } from "../training-jobs/stored-trajectories.js";
import { previewRollouts } from "@heddle/training";
import { trainingDataBytes } from "../limits/training-data-limit.js";
import { baseModelOf } from "./preview.js";
import type { PreviewServices, TrainingPreview } from "./preview.js";
import { hasLogprobs } from "./recorded-completion.js";
import { groupReader } from "../scorers/group-path.js";
import { linkCalls } from "./link-calls.js";
import { selectCalls } from "./select-calls.js";
import type { SelectedCall, Selection } from "./select-calls.js";

export interface RlFromCalls {
  caller: Caller;
  model: TrainingModel;
  idempotencyKey: string | undefined;
  request: Schemas["CreateRlTrainingJobFromCallsReq"];
  signal: AbortSignal;
}

/** Creates an RL job whose trajectories are calls, and links them with it. */
export async function createRlJobFromCalls(
  services: FromCallsServices,
  { caller, model, idempotencyKey, request, signal }: RlFromCalls,
): Promise<{ job: TrainingJobRecord; groups: number; selection: Selection }> {
  const { config, selection, groups } = await selectGroups(services, { caller, model, request, signal });
  const digest = createHash("sha256").update(JSON.stringify(config.config));
  const body = bodyOf(model, groups, digest);
  const trajectories = await storeTrajectories(services, body, async () => {}).catch((error: unknown) => {
    throw error instanceof Problem ? atCall(error, groups) : error;
  });
  const callIds = groups.flat().map(({ id }) => id);
  const job = await createRlJob(services, {
    ...config,
    caller,
    model,
    idempotencyKey,
    trajectories,
    digest: digest.digest("hex"),
    callIds,
  });
  await linkCalls(services, caller, { job, model, calls: selection.calls });
  return { job, groups: groups.length, selection };
}

/** Groups of a preview. */
const shownGroups = 200;

/** What a job of the same request would be trained on, and why it would fail. Starts and stores nothing. */
export async function previewRlFromCalls(
  services: PreviewServices,
  { caller, model, request, signal }: Omit<RlFromCalls, "idempotencyKey">,
): Promise<TrainingPreview> {
  const { config, selection, groups } = await selectGroups(services, {
    caller,
    model,
    request,
    signal,
    mayBeEmpty: true,
  });
  const firstGroups = groups.slice(0, shownGroups);
  const { rollouts, error } = await previewRollouts({
    groups: await readPacked(
      packTrajectories(bodyOf(model, groups), async () => {}, trainingDataBytes(services.config.limits)),
      firstGroups.length,
    ).catch((problem: unknown) => {
      throw problem instanceof Problem ? atCall(problem, groups) : problem;
    }),
    config: config.config,
    ...(await baseModelOf(services, model, { caller, signal })),
  });
  const byPlace = new Map(rollouts.map((rollout) => [`${rollout.group}.${rollout.index}`, rollout]));
  return {
    num_calls: selection.calls.length,
    num_groups: groups.length,
    groups: firstGroups.map((group, at) => ({
      key: group[0]?.group ?? null,
      num_calls: group.length,
      calls: group.map(({ id, reward = null }, index) => {
        const {
          advantage = null,
          tokens = null,
          trainedTokens = 0,
          skipped = null,
        } = byPlace.get(`${at}.${index}`) ?? {};
        return { id, reward, advantage, tokens, trained_tokens: trainedTokens, skipped };
      }),
    })),
    skipped: selection.skipped,
    warnings: config.warnings,
    error_message: error?.message ?? null,
  };
}

async function selectGroups(
  services: Pick<FromCallsServices, "control" | "store" | "providers" | "completions">,
  { caller, model, request, signal, mayBeEmpty }: Omit<RlFromCalls, "idempotencyKey"> & { mayBeEmpty?: boolean },
): Promise<{ config: Awaited<ReturnType<typeof readRlConfig>>; selection: Selection; groups: SelectedCall[][] }> {
  const { calls, reward, group_by, experimental_config = {} } = request;
  const config = await readRlConfig(services, { caller, projectId: model.project_id }, experimental_config);
  const withoutLogprobs = experimental_config.allow_training_without_logprobs === true;
  const groupAt = groupReader(group_by);
  const selection = await selectCalls(
    services,
    {
      model,
      calls,
      reward,
      mayBeEmpty,
      groupOf(call, completion, found) {
        if (!withoutLogprobs && !hasLogprobs(completion)) return "no_logprobs";
        if (completion.baseModel !== undefined && completion.baseModel !== model.base_model) return "other_base_model";
        if (found === undefined) return "no_reward";
        const key = groupAt(call);
        return key === undefined ? "no_group" : { key };
      },
    },
    signal,
  );
  return { config, selection, groups: groupsOf(selection.calls) };
}

function groupsOf(calls: readonly SelectedCall[]): SelectedCall[][] {
  const groups = new Map<string, SelectedCall[]>();
  for (const call of calls) {
    const group = groups.get(call.group);
    if (group === undefined) groups.set(call.group, [call]);
    else group.push(call);
  }
  return [...groups.values()];
}

/** The body of a request for the same job with submitted trajectories. */
async function* bodyOf(
  model: TrainingModel,
  groups: readonly (readonly SelectedCall[])[],
  digest?: { update(text: string): unknown },
): AsyncGenerator<Uint8Array> {
  const bytes = (text: string): Uint8Array => {
    digest?.update(text);
    return Buffer.from(text);
  };
  yield bytes(`{"model_id":${JSON.stringify(model.id)},"trajectory_groups":[`);
  for (const [at, group] of groups.entries()) {
    yield bytes(`${at === 0 ? "" : ","}{"trajectories":[`);
    for (const [index, call] of group.entries()) yield bytes((index === 0 ? "" : ",") + trajectoryOf(call, model));
    yield bytes("]}");
  }
  yield bytes("]}");
}

function trajectoryOf(call: SelectedCall, model: TrainingModel): string {
  const { id, messages, tools, choice, promptTokenIds, step, reward } = call;
  const sampled = promptTokenIds === undefined ? choice : withPrompt(choice, promptTokenIds);
  const members = [
    `"messages_and_choices":[${[...messages, sampled].join(",")}]`,
    `"reward":${JSON.stringify(reward)}`,
    `"metadata":${JSON.stringify({ call_id: id })}`,
  ];
  if (tools !== undefined) members.push(`"tools":${tools}`);
  if (call.modelId === model.id && step !== undefined) {
    members.push(`"initial_policy_version":${step}`, `"final_policy_version":${step}`);
  }
  return `{${members.join(",")}}`;
}

/** The choice with the ids of the prompt, which replace those that it has. */
function withPrompt(choice: string, promptTokenIds: string): string {
  return `${choice.trimEnd().slice(0, -1)},"prompt_token_ids":${promptTokenIds}}`;
}

/** What is wrong with a trajectory, as an error about the call. */
function atCall(problem: Problem, groups: readonly (readonly SelectedCall[])[]): HeddleError {
  const [detail] = problem.details ?? [];
  const [, , group, , trajectory, ...rest] = detail?.loc ?? [];
  const call = groups[Number(group)]?.[Number(trajectory)];
  const message = `${rest.join(".")}: ${detail?.msg ?? problem.message}`;
  const what = call === undefined ? problem.message : `the call ${call.id} cannot be used: ${message}`;
  return new HeddleError("unprocessable", what, { loc: ["calls"] });
}
