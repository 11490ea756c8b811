import { setTimeout as delay } from "node:timers/promises";
import type { EmbeddedEngine } from "./engine.js";

/**
 * Kills the query with this marker when the signal aborts, and again until `end` is called:
 * the first attempt can come before the engine has listed the query.
 */
export function stopQuery(engine: EmbeddedEngine, marker: string, signal: AbortSignal): { end(): void } {
  const state = { ended: false };
  const onAbort = (): void => void killUntilEnded();
  async function killUntilEnded(): Promise<void> {
    for (let wait = 20; !state.ended; wait = Math.min(wait * 2, 1000)) {
      await engine.kill(marker).catch(() => undefined);
      await delay(wait);
    }
  }
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    end() {
      state.ended = true;
      signal.removeEventListener("abort", onAbort);
    },
  };
}
