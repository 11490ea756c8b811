import { readFileSync } from "node:fs";

/** Files with the Linux counters of out-of-memory kills: of this container, of the machine. */
const counters = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"];

/** Returns the number of out-of-memory kills so far; undefined where the system does not report it. */
export function oomKillCount(): number | undefined {
  let kills: number | undefined;
  for (const file of counters) {
    try {
      const count = /^oom_kill (\d+)$/m.exec(readFileSync(file, "utf8"))?.[1];
      if (count !== undefined) kills = Math.max(kills ?? 0, Number(count));
    } catch {
      // Not on this system.
    }
  }
  return kills;
}

/** Returns whether V8 aborted because its heap was exhausted, which it reports on stderr. */
export function heapExhausted(stderr: string): boolean {
  return /heap out of memory|Fatal process out of memory|Fatal javascript OOM/i.test(stderr);
}
