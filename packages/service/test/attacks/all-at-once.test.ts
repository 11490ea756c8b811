import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { entryModule } from "@heddle/concurrency";
import { expect, test } from "vitest";
import { attacks } from "../../bench/attacks/attacks.js";
import type { AttackName } from "../../bench/attacks/attacks.js";
import { startAttacks } from "../../bench/attacks/start-attacks.js";
import { startModelServer } from "../../bench/model-server.js";
import { neighbourProviders, prepareAttacks, storeEvaluation } from "../../bench/neighbour-tenants.js";
import { childrenOf, resident } from "../../bench/process-usage.js";
import { runNeighbour } from "../../bench/neighbour-load.js";
import { readConfig } from "../../src/config/config.js";
import { serviceMemoryBytes } from "../../src/boot/memory-account.js";
import { finished, heddle, openHeddle } from "../faults/heddle-process.js";
import { writeProviders } from "../upstream.js";

/** Seconds in which everything is attacked. */
const seconds = 8;
const memory = { HEDDLE_ENGINE_MEMORY: "1500MB", HEDDLE_TRAINING_MEMORY: "1GB" };

test.skipIf(process.platform !== "linux")(
  "under all attacks at once, no process exceeds its memory, and every request of another key succeeds",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "heddle-attacks-"));
    const models = await startModelServer();
    const env = { ...memory, HEDDLE_PROVIDERS: writeProviders(directory, neighbourProviders(models.url)) };
    const service = await openHeddle({ env });
    // Without kept connections: one that the service closes while a request is sent would be an error of nobody.
    const agent = new Agent();
    try {
      const clientOf = async (entity: string) => {
        const command = ["keys", "create", "--user", entity, "--entity", entity, "--role", "write"];
        const { out, err } = await finished(heddle(command, { HEDDLE_DATA_DIR: service.data }));
        const key = /secret\s+(\S+)/.exec(out)?.[1];
        if (key === undefined) throw new Error(err);
        return { url: service.url, key };
      };
      const neighbour = await clientOf("neighbour");
      const target = await prepareAttacks(await clientOf("attacker"));
      const evaluation = await storeEvaluation(neighbour, "neighbour/app", {
        rows: 2,
        model: "bench/fast",
        template: "{prompt}",
        scorers: [["ExactMatchScorer", {}]],
      });
      const load = { projectId: "neighbour/app", writesPerSecond: 10, evaluation };
      // The sampler is started before it is needed in a hurry.
      expect((await runNeighbour(neighbour, agent, load, 1)).errors).toEqual([]);

      const { execArgv } = entryModule(new URL("../../bench/attacks/attacker.ts", import.meta.url));
      const names = Object.keys(attacks) as AttackName[];
      const stop = await startAttacks(names, target, { share: 0.1, execArgv });
      const { times, errors } = await runNeighbour(neighbour, agent, load, seconds);
      const report = await stop();
      const peaks = childrenOf(service.pid()).map((pid) => ({ pid, peak: resident(pid).peak }));
      const servicePeak = resident(service.pid()).peak;

      expect(errors).toEqual([]);
      expect(times.write).toHaveLength(10 * seconds);
      expect(times.completion.length).toBeGreaterThan(1);
      expect(times.evaluation.length).toBeGreaterThan(0);
      // What the attacks get depends on the moment; none is an error of the service.
      expect(Object.keys(report).filter((status) => !/^(200|400|404|408|413|422|429|503|cut)$/.test(status))).toEqual(
        [],
      );
      expect(report["413"]).toBeGreaterThan(0);
      // The sum is of everything at its bound at once.
      expect(servicePeak).toBeLessThan(serviceMemoryBytes(readConfig(env)) / 4);
      for (const { pid, peak } of peaks) expect(peak).toBeLessThan(pid === service.enginePid() ? 1500e6 : 1000e6);
      expect(service.log()).not.toMatch(/ error |did not respond|ran out of memory/);
    } finally {
      agent.destroy();
      await service.remove();
      models.close();
      rmSync(directory, { recursive: true, force: true });
    }
  },
  150_000,
);
