import { setTimeout as delay } from "node:timers/promises";
import type { EngineHost } from "@heddle/embedded-clickhouse";
import { isPassing } from "./start-error.js";

const mostTries = 3;
const pauseMs = 500;
/** An engine that is not back by then is not waited for. */
const backMs = 120_000;

/**
 * Opens what is on an engine of this service. An overloaded machine may keep a new engine from responding for so long that it
 * is killed and started again: what was being opened meanwhile is opened again. Everything else is thrown at once.
 */
export async function openOnEngine<T>(engine: Pick<EngineHost, "state">, open: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!isPassing(error) || tries === mostTries) throw error;
      // The connection is lost before the end of the process is known.
      for (let waited = 0; waited === 0 || (isRestarting(engine) && waited < backMs); waited += pauseMs)
        await delay(pauseMs);
    }
  }
}

const isRestarting = (engine: Pick<EngineHost, "state">): boolean => engine.state().status === "restarting";
