import type { ClaimedJob } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ErrorCode } from "@heddle/errors";
import type { TrainingServices } from "./training-services.js";
import { deleteOldRollouts } from "./keep-rollouts.js";
import { removeJobDirectory } from "./job-directory.js";
import { runTraining } from "./run-training.js";
import { purgeCheckpoints } from "../checkpoints/purge-checkpoints.js";
import type { JobAttempt, JobKind, JobPool } from "../jobs/job-kind.js";

/** Kind of the job of the queue for each kind of training. */
export const trainingKinds = { rl: "train-rl", sft: "train-sft", preference: "train-preference" } as const;

/** Training has slots of its own: a job has the memory of one for all of its time. */
export const trainingPool = "training" satisfies JobPool;

/** Attempts of a job whose engine failed, before it fails. */
const maxFailures = 3;
/** Errors that the runner tries again. */
const transient: ReadonlySet<ErrorCode> = new Set(["busy", "denied", "rate_limited", "aborted"]);

/** Jobs that train models. */
export function trainingJobKinds(services: TrainingServices): JobKind[] {
  return Object.values(trainingKinds).map((name) => ({
    name,
    pool: trainingPool,
    run: async (claimed, attempt) => await train(services, claimed, attempt),
    async fail({ id }, reason) {
      await end(services, id, { state: "failed", error_message: reason, error_type: "failed" });
    },
    async cancel({ id, cancel_reason: reason }) {
      const failure =
        reason === null
          ? { error_message: "the job was cancelled", error_type: "cancelled" }
          : { error_message: reason, error_type: "key_revoked" };
      await end(services, id, { state: "cancelled", ...failure });
    },
  }));
}

async function train(
  services: TrainingServices,
  claimed: ClaimedJob,
  attempt: JobAttempt,
): Promise<"succeeded" | "cancelled" | "yielded"> {
  const { control, config } = services;
  const job = await control.trainingJobs.start(claimed.id);
  if (job === undefined) return await outcomeOf(services, claimed.id);
  try {
    await runTraining(services, job, attempt);
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (error instanceof HeddleError && error.details?.["reason"] === "paused") {
      await control.trainingJobs.setPhase(job.id, "waiting");
      return "yielded";
    }
    if (!(error instanceof HeddleError) || transient.has(error.code)) throw error;
    const again = repeatable(error);
    if (again === "from the start") await removeJobDirectory(config.dataDir, job.id);
    // The runner repeats an attempt after any other error than a `HeddleError`.
    if (again !== undefined && claimed.attempts < maxFailures) throw new Error(error.message, { cause: error });
    const failure = failureOf(error);
    await end(services, job.id, { state: "failed", ...failure });
    throw new HeddleError("failed", failure.error_message, { cause: error });
  }
  await removeJobDirectory(config.dataDir, job.id);
  await deleteOldRollouts(services);
  await services.checkpointDirectories.sweep();
  await purgeCheckpoints(services, job.model_id);
  return "succeeded";
}

/** How a job ended that has nothing left to do. */
async function outcomeOf({ control, config }: TrainingServices, id: string): Promise<"succeeded" | "cancelled"> {
  const ended = await control.trainingJobs.get(id);
  await removeJobDirectory(config.dataDir, id);
  if (ended?.state === "failed") throw new HeddleError("failed", ended.error_message ?? "the job failed");
  return ended?.state === "succeeded" ? "succeeded" : "cancelled";
}

async function end(
  services: TrainingServices,
  id: string,
  failure: { state: "failed" | "cancelled"; error_message: string; error_type: string },
): Promise<void> {
  const { control, config, checkpointDirectories } = services;
  await control.trainingJobs.fail({ id }, failure);
  await removeJobDirectory(config.dataDir, id);
  await deleteOldRollouts(services);
  await checkpointDirectories.sweep();
  await purgeCheckpoints(services, (await control.trainingJobs.get(id))?.model_id);
}

/** How another attempt may succeed; undefined if it would fail in the same way. */
function repeatable({ code, loc, details }: HeddleError): "as it is" | "from the start" | undefined {
  // A process of the engine has ended.
  if (code === "failed" && typeOf(details) === undefined) return "as it is";
  // The state of an earlier attempt is that of other input: a checkpoint was deleted meanwhile.
  return code === "conflict" && (loc?.[0] === "workDirectory" || loc?.[0] === "directory")
    ? "from the start"
    : undefined;
}

/** What the user reads. */
function failureOf({ code, message, loc = [], details }: HeddleError): { error_message: string; error_type: string } {
  const [first, ...rest] = loc;
  const named = typeof first === "string" ? members[first] : undefined;
  return {
    error_message: named === undefined ? message : `${[named, ...rest].join(".")}: ${message}`,
    error_type: typeOf(details) ?? code,
  };
}

/** What an error says more precisely than its code, such as `divergence`. */
function typeOf(details: HeddleError["details"]): string | undefined {
  const type = details?.["error_type"] ?? details?.["reason"];
  return typeof type === "string" ? type : undefined;
}

/** Names in the request of the arguments of a training run. */
const members: Readonly<Record<string, string>> = { groups: "trajectory_groups", config: "config", from: "model" };
