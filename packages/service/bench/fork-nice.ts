import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Starts a program whose every thread has a priority lower by `niceness`: setting it later would reach the first alone. */
export function forkNice(program: URL, niceness: number, execArgv: readonly string[] = process.execArgv): ChildProcess {
  const path = fileURLToPath(program);
  if (niceness === 0) return fork(path, [], { execArgv: [...execArgv] });
  return fork(path, [], { execPath: "nice", execArgv: ["-n", String(niceness), process.execPath, ...execArgv] });
}
