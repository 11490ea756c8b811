/**
 * What the console reads of training, in process and on SQLite: the history of a model of 100,000 rows, a page of rollouts
 * and one of jobs.
 *
 *   npx tsx -C @heddle/source packages/service/bench/training-reads.ts [--rows 100000]
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import { readModelHistory } from "../src/model-history/read-model-history.js";
import { describeMachine, median, option } from "./results.js";

const rows = option("rows", 100_000);
const rounds = 7;
const jobs = 1000;
const projectId = "bench/training";
const directory = mkdtempSync(join(tmpdir(), "heddle-bench-"));
const control = await openControlPlane({ url: pathToFileURL(join(directory, "control.db")).href });

const { model } = await control.trainingModels.create({
  id: randomUUID(),
  checkpoint_id: randomUUID(),
  project_id: projectId,
  name: "agent",
  base_model: "random:tiny",
  run_id: "run",
  created_by: "ann",
});
const run = { project_id: projectId, name: model.run_id, created_by: "ann" };
await control.trackingRuns.upsert(run, {});
const metrics = ["val/reward", "train/reward", "train/loss", "train/kl", "train/entropy", "train/grad_norm"];
await control.trackingRuns.writeHistory(
  run,
  0,
  Array.from({ length: rows }, (_, n) =>
    JSON.stringify({
      ...Object.fromEntries(metrics.map((name, index) => [name, Math.sin(n / 100 + index)])),
      _step: n,
      _timestamp: 1_775_811_600 + n,
    }),
  ),
);
let last = "";
for (let n = 0; n < jobs; n++) {
  last = randomUUID();
  await control.trainingJobs.create({
    id: last,
    project_id: projectId,
    model_id: model.id,
    kind: "rl",
    queue_kind: "train-rl",
    request_digest: `${n}`,
    config: "{}",
    created_by: "ann",
    rollouts: { blob: "sha256/aa", bytes: 1 },
  });
}
await control.trainingJobs.start(last);
await control.trainingJobs.rollouts.put(
  last,
  Array.from({ length: 128 }, (_, n) => ({
    group: Math.floor(n / 8),
    index: n % 8,
    reward: n,
    metrics: { duration: 1 },
    advantage: n % 8,
    tokens: 100,
    trained_tokens: 50,
    skipped: null,
    call_ids: [randomUUID()],
    text: null,
  })),
);

const reads: Record<string, () => Promise<unknown>> = {
  [`history of ${rows} rows, 6 names, 1000 points`]: async () =>
    await readModelHistory(control, model, { points: 1000 }, new AbortController().signal),
  "100 of 128 rollouts by reward": async () =>
    await control.trainingJobs.rollouts.page(last, { limit: 100, sort_by: "reward", order: "desc" }),
  [`the newest 20 of ${jobs} jobs`]: async () => await control.trainingJobs.pageOfProject(projectId, { limit: 20 }),
};
console.log(`${describeMachine()}\n`);
for (const [name, read] of Object.entries(reads)) {
  const times: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const [began, before] = [performance.now(), process.cpuUsage()];
    await read();
    times.push(performance.now() - began);
    cpu.push(process.cpuUsage(before).user / 1000);
  }
  console.log(`${name}: median ${median(times).toFixed(1)} ms, of which ${median(cpu).toFixed(1)} ms of CPU`);
}
await control.close();
rmSync(directory, { recursive: true });
