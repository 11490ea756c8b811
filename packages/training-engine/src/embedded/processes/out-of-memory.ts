import { readFileSync } from "node:fs";

/** Files in which Linux counts the processes it killed for want of memory: of this container, of the whole machine. */
const counters = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"];

/** How many processes the system has killed for want of memory so far; undefined where it does not say. */
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

/** Whether V8 ended the process because its heap was full: it says so on stderr and aborts. */
export function heapExhausted(stderr: string): boolean {
  return /heap out of memory|Fatal process out of memory|Fatal javascript OOM/i.test(stderr);
}
