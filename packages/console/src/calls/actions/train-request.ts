import {
  createPreferenceTrainingJobFromCalls,
  createRlTrainingJobFromCalls,
  createSftTrainingJobFromCalls,
  previewPreferenceTrainingJobFromCalls,
  previewRlTrainingJobFromCalls,
  previewSftTrainingJobFromCalls,
} from "@heddle/client/training";
import type { RewardSource, TrainingJobFromCalls, TrainingPreview } from "@heddle/client/training";
import type { BrowserSession } from "../../session/session.js";

/** What calls are trained as. */
export const trainKinds = {
  rl: "calls by their rewards",
  sft: "calls as examples",
  dpo: "pairs of a better and a worse answer",
  kto: "answers that are good or bad",
} as const;
export type TrainKind = keyof typeof trainKinds;

/** What the number beside the reward means; of rewards alone there is none. */
export const leastTitles: Readonly<Record<TrainKind, string | undefined>> = {
  rl: undefined,
  sft: "Least reward of an example, if any",
  dpo: "Least difference between the rewards of a pair, if any",
  kto: "Least reward of a good answer, or else 0.5",
};

type RlBody = Omit<Parameters<typeof createRlTrainingJobFromCalls>[1], "Idempotency-Key">;
type SftBody = Omit<Parameters<typeof createSftTrainingJobFromCalls>[1], "Idempotency-Key">;
type PreferenceBody = Omit<Parameters<typeof createPreferenceTrainingJobFromCalls>[1], "Idempotency-Key">;
export type TrainRequest =
  | { of: "rl"; body: RlBody }
  | { of: "sft"; body: SftBody }
  | { of: "preference"; body: PreferenceBody };

interface Chosen {
  kind: TrainKind;
  model: string;
  calls: RlBody["calls"];
  reward: RewardSource | undefined;
  groupBy: string;
  least: number | undefined;
}

/** What is sent, and previewed before; undefined until there is enough. */
export function trainRequest({ kind, model, calls, reward, groupBy, least }: Chosen): TrainRequest | undefined {
  if (model === "" || Number.isNaN(least)) return undefined;
  const request = { model_id: model, calls };
  if (kind === "sft") {
    const rewarded = reward !== undefined && { reward, ...(least !== undefined && { min_reward: least }) };
    return { of: "sft", body: { ...request, ...rewarded } };
  }
  if (reward === undefined) return undefined;
  if (kind === "rl") return groupBy === "" ? undefined : { of: "rl", body: { ...request, reward, group_by: groupBy } };
  const bound = least !== undefined && (kind === "dpo" ? { min_margin: least } : { min_reward: least });
  return { of: "preference", body: { ...request, reward, ...bound, config: { objective: kind } } };
}

export async function previewTraining(
  { training }: BrowserSession,
  request: TrainRequest,
  signal: AbortSignal,
): Promise<TrainingPreview> {
  if (request.of === "rl") return await previewRlTrainingJobFromCalls(training, request.body, { signal });
  if (request.of === "sft") return await previewSftTrainingJobFromCalls(training, request.body, { signal });
  return await previewPreferenceTrainingJobFromCalls(training, request.body, { signal });
}

/** Sent again with the same id, it starts nothing more. */
export async function startTraining(
  { training }: BrowserSession,
  request: TrainRequest,
  id: string,
): Promise<TrainingJobFromCalls> {
  const header = { "Idempotency-Key": id };
  if (request.of === "rl") return await createRlTrainingJobFromCalls(training, { ...request.body, ...header });
  if (request.of === "sft") return await createSftTrainingJobFromCalls(training, { ...request.body, ...header });
  return await createPreferenceTrainingJobFromCalls(training, { ...request.body, ...header });
}
