import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TrainingJobRecord } from "@heddle/control-plane";
import { forEachConcurrently } from "@heddle/concurrency";
import { ifExists } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import { isJsonObject } from "@heddle/exact-json";
import type { JobAttempt } from "../jobs/job-kind.js";
import { Computing } from "../computing/computing.js";
import { loadRanking } from "../runnable-objects/load-scorer.js";
import type { Ranking } from "../scorers/scorer.js";
import { referencedObject } from "../objects/referenced-object.js";
import type { JobDirectory } from "./job-directory.js";
import type { StoredGroups } from "./stored-trajectories.js";
import type { TrainingServices } from "./training-services.js";

/** What one request to a model compares. */
const maxGroup = 32;
/** A model that returned something else than a ranking is asked so often. */
const maxQuestions = 3;

interface RankedGroups {
  services: TrainingServices;
  job: TrainingJobRecord;
  directory: JobDirectory;
  attempt: JobAttempt;
  signal: AbortSignal;
  /** Called after each group. */
  onProgress: () => void;
}

/**
 * Gives the trajectories of each group the scores of the job's `ranking` as their rewards, if it has one. Their own rewards
 * become the metric `independent_reward`. A group of which nothing can be compared keeps its rewards. Scores are kept, so
 * that a later attempt trains on the same.
 */
export async function rankGroups(groups: StoredGroups["groups"], run: RankedGroups): Promise<void> {
  const { services, job, directory, attempt, signal } = run;
  const { ranking: ref } = JSON.parse(job.config) as { ranking?: unknown };
  if (typeof ref !== "string") return;
  const object = await referencedObject(services, job.project_id, ref);
  const computing = new Computing({ ...attempt.sharer, key: `jobs of ${attempt.sharer.key}` });
  const ranking = await loadRanking(services, object, computing);
  const file = join(directory.root, "ranking.jsonl");
  const known = await readScores(file);
  const open = groups.map((group, index) => ({ group, index })).filter(({ group }) => group.trajectories.length > 1);
  await forEachConcurrently(open, services.config.evaluationConcurrency, async ({ group, index }) => {
    let scores = known.get(index);
    if (scores === undefined) {
      if (attempt.shouldYield) throw new HeddleError("aborted", "the job pauses", { details: { reason: "paused" } });
      scores = await scoresOf(ranking, group.trajectories, { job, index, signal });
      await appendFile(file, `${JSON.stringify({ group: index, scores })}\n`);
      run.onProgress();
    }
    group.trajectories = group.trajectories.map((trajectory, at) => withReward(trajectory, scores[at] ?? 0));
  });
}

async function scoresOf(
  ranking: Ranking,
  trajectories: readonly unknown[],
  { job, index, signal }: { job: TrainingJobRecord; index: number; signal: AbortSignal },
): Promise<number[]> {
  const refuse = (reason: string) =>
    new HeddleError("invalid", `trajectory_groups.${index} cannot be ranked: ${reason}`, {
      details: { reason: "ranking" },
    });
  if (trajectories.length > maxGroup) {
    throw refuse(`it has ${trajectories.length} trajectories; at most ${maxGroup} can be compared`);
  }
  const members = trajectories.map(memberOf);
  for (let question = 1; ; question++) {
    try {
      const texts = await ranking.rank(members, JSON.stringify([job.id, index, question]), signal);
      return texts.map((text) => (JSON.parse(text) as { score: number }).score);
    } catch (error) {
      if (!(error instanceof HeddleError) || !["failed", "invalid", "too_large"].includes(error.code)) throw error;
      if (error.code !== "failed" || question === maxQuestions) throw refuse(error.message);
    }
  }
}

/** What a model is shown of a trajectory: its messages, of which the last one is the answer. */
function memberOf(trajectory: unknown): { inputs: string; output: string } {
  const { messages_and_choices: turns, tools = null } = isJsonObject(trajectory) ? trajectory : {};
  const messages = (Array.isArray(turns) ? (turns as unknown[]) : []).map((turn) =>
    isJsonObject(turn) && isJsonObject(turn["message"]) ? turn["message"] : turn,
  );
  return {
    inputs: JSON.stringify({ messages: messages.slice(0, -1), ...(tools !== null && { tools }) }),
    output: JSON.stringify({ choices: [{ message: messages.at(-1) ?? null }] }),
  };
}

function withReward(trajectory: unknown, score: number): unknown {
  if (!isJsonObject(trajectory)) return trajectory;
  const { reward, metrics } = trajectory;
  const own = typeof reward === "number" ? { independent_reward: reward } : {};
  return { ...trajectory, reward: score, metrics: { ...(isJsonObject(metrics) ? metrics : {}), ...own } };
}

/** A last line that an attempt could not write to its end counts for nothing. */
async function readScores(file: string): Promise<Map<number, number[]>> {
  const lines = ((await ifExists(readFile(file, "utf8"))) ?? "").split("\n").slice(0, -1);
  const found = new Map<number, number[]>();
  for (const line of lines) {
    try {
      const { group, scores } = JSON.parse(line) as { group: number; scores: number[] };
      found.set(group, scores);
    } catch {
      // Written by halves before the next one was appended.
    }
  }
  return found;
}
