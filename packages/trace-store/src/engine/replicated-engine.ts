import { setTimeout as delay } from "node:timers/promises";
import type { ClickHouseSettings } from "@clickhouse/client";
import type { Engine } from "./engine.js";
import { StatementError } from "./statement-error.js";

/** Of an ALTER that another one came before, on another server; the same one works later. */
const outrunAlter = 517;
const attempts = 5;
const pauseMs = 200;

/** Each waits for all servers with 2, and fails while one is down. */
const waitingSettings = ["alter_sync", "mutations_sync", "lightweight_deletes_sync"] as const;

/**
 * An engine for replicated tables, at one of their servers: statements wait for that one, from which all is read. The others
 * do the same when they can.
 */
export function withReplicas(engine: Engine): Engine {
  return {
    ...engine,
    async command(statement, options = {}) {
      const own = { ...options, ...(options.settings && { settings: waitingForOne(options.settings) }) };
      for (let attempt = 1; ; attempt++) {
        try {
          return await engine.command(statement, own);
        } catch (error) {
          const isOutrun = error instanceof StatementError && error.number === outrunAlter;
          if (!isOutrun || attempt === attempts) throw error;
          await delay(pauseMs);
        }
      }
    },
  };
}

function waitingForOne(settings: ClickHouseSettings): ClickHouseSettings {
  const changed = waitingSettings.filter((name) => settings[name] !== undefined).map((name) => [name, "1"]);
  return { ...settings, ...Object.fromEntries(changed) };
}
