import { once } from "node:events";
import { forkNice } from "../fork-nice.js";
import type { AttackReport, Target } from "./attack.js";
import type { Start } from "./attacker.js";
import type { AttackName } from "./attacks.js";

export interface AttackOptions {
  /** The part of the workers that run. */
  share?: number;
  /** Arguments of node with which TypeScript runs from source. */
  execArgv?: readonly string[];
  /** Of the attacking process: 19 leaves the processors to the service wherever both want them. */
  niceness?: number;
}

/**
 * Attacks from a process of its own, so that the clock of the neighbour is not disturbed. Resolves when the attacks begin,
 * with what ends them.
 */
export async function startAttacks(
  names: AttackName[],
  target: Target,
  { share = 1, execArgv = process.execArgv, niceness = 0 }: AttackOptions = {},
): Promise<() => Promise<AttackReport>> {
  const child = forkNice(new URL("attacker.ts", import.meta.url), niceness, execArgv);
  const start: Start = { names, target, share };
  child.send(start);
  await once(child, "message");
  return async () => {
    const message = once(child, "message") as Promise<[AttackReport]>;
    child.send("stop");
    const [report] = await message;
    child.kill("SIGKILL");
    return report;
  };
}
