import type { HeldJob } from "./held-job.js";
import { sharesOf } from "./slot-shares.js";
import type { JobOwner } from "./slot-shares.js";

/** What a job works at least before it gives its slot back: handing over has a cost. */
const leastWorkMs = 1000;

/** What the choice reads of a job that runs. */
type RunningJob = Pick<HeldJob, "job" | "sliceAge" | "workAge">;

/** Whether one of the jobs would give its slot back if somebody waited who has less. */
export function mayEndSlice(running: readonly RunningJob[], sliceMs: number): boolean {
  return running.some((each) => each.workAge() >= Math.min(leastWorkMs, sliceMs));
}

/** Milliseconds until one more of the jobs would. */
export function msToNextSliceEnd(running: readonly RunningJob[], sliceMs: number): number {
  const left = running.flatMap((each) => [sliceMs - each.sliceAge(), Math.min(leastWorkMs, sliceMs) - each.workAge()]);
  return Math.min(Infinity, ...left.filter((ms) => ms > 0));
}

/**
 * The jobs that give their slots back to those that wait, in their turns: of those with a smaller share, after a slice, or
 * soon where a key or an entity has more than it shall.
 */
export function slicesToEnd<Job extends RunningJob>(
  running: readonly Job[],
  waiting: readonly JobOwner[],
  { sliceMs, slots }: { sliceMs: number; slots: number },
): Job[] {
  const shares = sharesOf(slots, running);
  const candidates = running
    .filter((each) => each.workAge() >= Math.min(leastWorkMs, sliceMs))
    .toSorted((a, b) => b.sliceAge() - a.sliceAge());
  const ended: Job[] = [];
  for (const next of waiting) {
    const index = candidates.findIndex(
      (each) => shares.deserves(next, each.job) && (each.sliceAge() >= sliceMs || shares.exceeds(each.job, next)),
    );
    const [chosen] = index < 0 ? [] : candidates.splice(index, 1);
    if (chosen === undefined) continue;
    ended.push(chosen);
    shares.add(chosen.job, -1);
    shares.add(next, 1);
  }
  return ended;
}
