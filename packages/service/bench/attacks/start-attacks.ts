import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { AttackReport, Target } from "./attack.js";
import type { Start } from "./attacker.js";
import type { AttackName } from "./attacks.js";

/**
 * Attacks from a process of its own, so that the clock of the neighbour is not disturbed. Resolves when the attacks begin,
 * with what ends them. `share` is the part of their workers that run, `execArgv` are the arguments of node with which
 * TypeScript runs from source.
 */
export async function startAttacks(
  names: AttackName[],
  target: Target,
  { share = 1, execArgv = process.execArgv }: { share?: number; execArgv?: readonly string[] } = {},
): Promise<() => Promise<AttackReport>> {
  const child = fork(fileURLToPath(new URL("attacker.ts", import.meta.url)), [], { execArgv: [...execArgv] });
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
