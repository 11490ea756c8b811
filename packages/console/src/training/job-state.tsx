import type { TrainingJob } from "@heddle/client/training";
import { formatCount, formatDuration } from "../ui/format.js";
import { useNow } from "../ui/use-now.js";
import type { JobStatus } from "./training-search.js";

const states: Record<JobStatus, readonly [mark: string, word: string, className: string]> = {
  PENDING: ["○", "waits", "quiet"],
  RUNNING: ["●", "runs", "is-running"],
  COMPLETED: ["✓", "completed", "is-success"],
  FAILED: ["✗", "failed", "is-error"],
  CANCELLED: ["–", "cancelled", "quiet"],
};

export const wordOfStatus = (status: JobStatus): string => states[status][1];

/** The state of a job in a word, with what it does just now. */
export function JobState({ job }: { job: TrainingJob }) {
  const [mark, word, className] = states[job.status];
  const ahead = job.queue_position ?? 0;
  return (
    <span className={className}>
      <span aria-hidden>{mark}</span> {job.phase ?? word}
      {job.status === "PENDING" && ahead > 0 && `, ${formatCount(ahead)} before it`}
    </span>
  );
}

/** Gradient steps that are done: `7 of 40`. */
export function JobProgress({ job: { progress } }: { job: TrainingJob }) {
  const { completed, total } = progress;
  if (total === null && completed === 0) return undefined;
  return (
    <>
      {formatCount(completed)}
      {total !== null && ` of ${formatCount(total)}`}
    </>
  );
}

/** How long it ran, or runs. */
export function JobDuration({ job }: { job: TrainingJob }) {
  return job.training_start === null ? undefined : <Ran start={job.training_start} end={job.training_end} />;
}

function Ran({ start, end }: { start: string; end: string | null }) {
  const now = useNow();
  const ran = (end === null ? now : Date.parse(end)) - Date.parse(start);
  if (end !== null) return <>{formatDuration(Math.max(0, ran))}</>;
  return <>+{formatDuration(Math.max(0, Math.floor(ran / 1000) * 1000))}</>;
}
