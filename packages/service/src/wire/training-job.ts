import { rolloutId } from "@heddle/control-plane";
import type { RolloutRecord, TrainingEventRecord, TrainingJobRecord } from "@heddle/control-plane";
import { rawJson } from "@heddle/server-stub";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import { formatTime } from "@heddle/trace-model";

const statuses = {
  queued: "PENDING",
  running: "RUNNING",
  succeeded: "COMPLETED",
  failed: "FAILED",
  cancelled: "CANCELLED",
} as const;

/** A stored training job as the API shows it. `position` is its position in the queue. */
export function wireTrainingJob(job: TrainingJobRecord, position: number): ResponseSchemas["TrainingJob"] {
  const timeOf = (time: bigint | null) => (time === null ? null : formatTime(time));
  return {
    id: job.id,
    model_id: job.model_id,
    kind: job.kind,
    status: statuses[job.state],
    phase: job.phase,
    queue_position: job.state === "queued" ? position : null,
    progress: { completed: job.completed_sequences, total: job.num_sequences },
    created_at: formatTime(job.created_at),
    training_start: timeOf(job.started_at),
    training_end: timeOf(job.ended_at),
    error_message: job.error_message,
    error_type: job.error_type,
    step: job.step,
    checkpoint_id: job.checkpoint_id,
    num_sequences: job.num_sequences,
    call_ids: job.call_ids,
    warnings: job.warnings,
  };
}

/** A stored rollout as the API shows it, without its text. */
export function wireRollout(rollout: RolloutRecord): ResponseSchemas["Rollout"] & { id: string } {
  const { text: _, skipped, ...rest } = rollout;
  return { id: rolloutId(rollout), ...rest, skipped: skipped as ResponseSchemas["Rollout"]["skipped"] };
}

/** The stored states of a job with this status in the API. */
export const stateOfStatus: Readonly<Record<ResponseSchemas["TrainingJob"]["status"], TrainingJobRecord["state"]>> = {
  PENDING: "queued",
  RUNNING: "running",
  COMPLETED: "succeeded",
  FAILED: "failed",
  CANCELLED: "cancelled",
};

export function wireTrainingEvent({
  id,
  type,
  data,
  created_at,
}: TrainingEventRecord): ResponseSchemas["TrainingJobEvent"] {
  return { id, type, created_at: formatTime(created_at), data: rawJson(data) };
}
