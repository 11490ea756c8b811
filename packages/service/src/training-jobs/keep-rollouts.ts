import type { BlobStore } from "@heddle/blob-store";
import type { ControlPlane, RolloutRecord, TrainingJobRecord } from "@heddle/control-plane";
import { isJsonObject } from "@heddle/exact-json";
import { rawJson } from "@heddle/server-stub";
import type { RawJson } from "@heddle/server-stub";
import type { RolloutSummary } from "@heddle/training";
import type { Config } from "../config/config.js";
import type { StoredGroups } from "./stored-trajectories.js";

/** Further ones of a job are trained on and not listed. */
const mostRollouts = 100_000;
/** Metrics with longer names and values are only in the text of their rollout. */
const mostMetricsLength = 65_536;

/** Stores what a running job has found out about its trajectories, if the rollouts of the job are kept. */
export async function keepRollouts(
  { control }: { control: ControlPlane },
  job: TrainingJobRecord,
  { groups, lengths }: StoredGroups,
  summaries: readonly RolloutSummary[],
): Promise<void> {
  if (job.rollouts_blob === null) return;
  const starts = startsOf(lengths);
  const records = summaries.slice(0, mostRollouts).map((summary): RolloutRecord => {
    const { group, index, trainedTokens, skipped = null, metrics, ...rest } = summary;
    const start = starts[group]?.[index];
    const length = lengths[group]?.[index];
    return {
      ...rest,
      group,
      index,
      metrics: JSON.stringify(metrics).length > mostMetricsLength ? null : metrics,
      trained_tokens: trainedTokens,
      skipped,
      call_ids: callIdsOf(groups[group]?.trajectories[index]),
      text: start === undefined || length === undefined ? null : { start, length },
    };
  });
  await control.trainingJobs.rollouts.put(job.id, records);
}

/** The text of a trajectory as it was sent; undefined where it is not known. */
export async function rolloutText(
  blobs: BlobStore,
  { rollouts_blob: blob }: TrainingJobRecord,
  { text }: RolloutRecord,
): Promise<RawJson | undefined> {
  if (blob === null || text === null) return undefined;
  const { stream } = await blobs.get(blob, { range: { start: text.start, end: text.start + text.length - 1 } });
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return rawJson(Buffer.concat(chunks).toString());
}

/** Deletes the rollouts of the oldest jobs beyond what is kept. */
export async function deleteOldRollouts({ control, config }: { control: ControlPlane; config: Config }): Promise<void> {
  await control.trainingJobs.rollouts.deleteOldest(config.keepRolloutsBytes);
}

/** Where the text of each trajectory begins. Undefined from the first one on whose length is not known. */
function startsOf(lengths: StoredGroups["lengths"]): (number | undefined)[][] {
  let next: number | undefined = 0;
  return lengths.map((group) =>
    group.map((length) => {
      const start = next;
      next = start === undefined || length === undefined ? undefined : start + length;
      return start;
    }),
  );
}

/** Longer texts are no ids of calls. */
const mostIdLength = 128;

/**
 * A trajectory names its calls in its metadata: `call_id`, or `call_ids` separated by commas. Its choices name theirs, as
 * completions return them.
 */
function callIdsOf(trajectory: unknown): string[] {
  if (!isJsonObject(trajectory)) return [];
  const { metadata, additional_histories: others } = trajectory;
  const { call_id: one, call_ids: several }: Record<string, unknown> = isJsonObject(metadata) ? metadata : {};
  const histories = [trajectory, ...(Array.isArray(others) ? others.filter(isJsonObject) : [])];
  const elements = histories.flatMap(({ messages_and_choices: each }) =>
    Array.isArray(each) ? (each as unknown[]) : [],
  );
  const ofChoices = elements.map((each) => (isJsonObject(each) && "message" in each ? each["call_id"] : undefined));
  const named = [one, ...(typeof several === "string" ? several.split(",") : [])];
  const sent = ofChoices.filter((id) => typeof id === "string" && id.length <= mostIdLength);
  const ids = [...named, ...sent].flatMap((id) => (typeof id === "string" && id.trim() !== "" ? [id.trim()] : []));
  return [...new Set(ids)];
}
