import { readdirSync, readFileSync, writeFileSync } from "node:fs";

// CPU, memory and files of a process, read from /proc. Linux only.

/** Clock ticks per second of /proc; fixed for user space on Linux. */
const ticks = 100;

/** Milliseconds of CPU, user and system, since the process began. */
export const cpuMs = (pid: number): number => ticksMs(`/proc/${pid}/stat`);

/** The same of its first thread only: in node all but compiling and collecting garbage. */
export const mainThreadMs = (pid: number): number => ticksMs(`/proc/${pid}/task/${pid}/stat`);

function ticksMs(file: string): number {
  // The name in parentheses may hold spaces.
  const fields = readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticks;
}

export interface Resident {
  bytes: number;
  /** The most since the process began, or since {@link forgetPeak}. */
  peak: number;
  threads: number;
}

export function resident(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
  return { bytes: field("VmRSS") * 1024, peak: field("VmHWM") * 1024, threads: field("Threads") };
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

export function childrenOf(pid: number): number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return list === "" ? [] : list.split(" ").map(Number);
}
