import { readFileSync, readdirSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/** How much nicer than statements: of a core that a statement wants as well, such a thread gets a quarter. */
export const backgroundNice = 5;

/**
 * Makes the threads that merge and rewrite parts nicer than those of statements, so that upkeep does not hold up reads and
 * writes; false while there are none, since the engine starts them with its first table. It has a setting for this, which it
 * ignores in a process that may not raise priorities; to lower them is allowed to all. A thread that is nicer already, or is
 * gone, is left alone.
 */
export function makeMergesNice(): boolean {
  const threads = mergeThreads("self");
  const nice = Math.min(19, getPriority() + backgroundNice);
  for (const thread of threads) makeNice(thread, nice);
  return threads.length > 0;
}

function makeNice(thread: number, nice: number): void {
  try {
    if (getPriority(thread) < nice) setPriority(thread, nice);
  } catch {
    // It does the same work without.
  }
}

/** The ids of the threads of a process that merge and rewrite parts; none where /proc does not tell threads apart. */
export function mergeThreads(pid: number | "self"): number[] {
  const tasks = `/proc/${pid}/task`;
  try {
    return readdirSync(tasks)
      .filter((id) => readFileSync(`${tasks}/${id}/comm`, "utf8").trim() === "MergeMutate")
      .map(Number);
  } catch {
    return [];
  }
}
