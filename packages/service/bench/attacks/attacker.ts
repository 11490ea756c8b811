import { setTimeout as delay } from "node:timers/promises";
import { report } from "./attack.js";
import type { Target } from "./attack.js";
import { attacks } from "./attacks.js";
import type { AttackName } from "./attacks.js";
import { prepareTrajectories } from "./model-attacks.js";

// A program: gets attacks by message, says when it is ready, repeats them, and sends its report when it is told to stop.

export interface Start {
  names: AttackName[];
  target: Target;
  /** Part of the workers of each attack, at least one. */
  share: number;
}

process.on("disconnect", () => process.exit());
process.on("message", (message: Start | "stop") => {
  if (message === "stop") {
    process.send?.(report);
    return;
  }
  if (message.names.includes("compressed trajectories")) prepareTrajectories(message.target);
  process.send?.("ready");
  for (const name of message.names) {
    const { workers, run } = attacks[name];
    const repeat = async () => {
      for (;;) {
        await run(message.target);
        // What is refused at once is not repeated faster than a client could.
        await delay(20);
      }
    };
    for (let worker = 0; worker < Math.max(1, workers * message.share); worker++) void repeat();
  }
});
