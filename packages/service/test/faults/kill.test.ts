import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { check } from "./check.js";
import { openHeddle } from "./heddle-process.js";
import type { HeddleProcess } from "./heddle-process.js";
import { openLedger } from "./ledger.js";
import type { Ledger } from "./ledger.js";
import { random } from "./random.js";
import { wire } from "./wire.js";
import { kindCount, writeAll } from "./writers.js";
import { killTargets } from "./kill-targets.js";

// Every kind of write goes on during every kill; `pnpm faults` runs twenty rounds, the suite one.
const rounds = Number(process.env["FAULT_ROUNDS"] ?? 1);
const seed = Number(process.env["FAULT_SEED"] ?? 4680);

let heddle: HeddleProcess;
beforeAll(async () => (heddle = await openHeddle()), 60_000);
afterAll(() => heddle.remove());

test.each(Object.keys(killTargets))(
  "kill -9 of %s under every kind of write loses, duplicates and splits nothing",
  async (target) => {
    const next = random(seed);
    const projectId = `faults/kill-${Object.keys(killTargets).indexOf(target)}`;
    const ledger = openLedger();
    const client = wire(heddle.url);
    for (let round = 1; round <= rounds; round++) {
      let stopped = false;
      const writers = writeAll({ wire: client, project_id: projectId, ledger, random: next, stopped: () => stopped });
      // A response that no writer may get ends the round.
      const failed = writers.then(() => Promise.reject(new Error("writers stopped early")));
      failed.catch(() => undefined);
      await Promise.race([progress(ledger), failed]);
      // Somewhere in the middle of a request.
      await delay(next() * 300);
      await killTargets[target]?.(heddle);
      await Promise.race([progress(ledger), failed]);
      stopped = true;
      await writers;
    }
    const verdict = await check(client, projectId, ledger);
    const { acked, checked, missing, doubled, wrong } = verdict;
    console.log(
      `kill -9 of ${target}: ${rounds} rounds, seed ${seed}, ${acked} acked, ${checked} checked, ` +
        `${missing.length} missing, ${doubled.length} doubled, ${wrong.length} wrong, ` +
        `${client.hung()} hung, slowest request ${Math.round(client.slowestMs())} ms`,
    );
    expect({ missing, doubled, wrong, hung: client.hung() }).toEqual({
      missing: [],
      doubled: [],
      wrong: [],
      hung: 0,
    });
    expect(existsSync(join(heddle.data, "losses.jsonl"))).toBe(false);
  },
  60_000 + rounds * 60_000,
);

/** Resolves when every kind of write has been acknowledged again, and forty sides in all. */
async function progress(ledger: Ledger): Promise<void> {
  const before = ledger.acked();
  for (;;) {
    await delay(20);
    const gained = [...ledger.acked()].map(([kind, n]) => n - (before.get(kind) ?? 0)).filter((n) => n > 0);
    if (gained.length === kindCount && gained.reduce((sum, n) => sum + n, 0) >= 40) return;
  }
}
