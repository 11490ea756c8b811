import { afterAll, beforeAll, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { newModel } from "./jobs.js";
import type { TrainingClient } from "./jobs.js";

let service: TestService;
let client: TrainingClient;
beforeAll(async () => {
  service = await openTestService();
  client = service.training();
});
afterAll(async () => {
  expect(service.unexpected).toEqual([]);
  await service.close();
});

/** A model to whose run these rows were logged. */
async function logged(rows: readonly string[]) {
  const projectId = newProject();
  const model = await newModel(client, projectId);
  const run = { project_id: projectId, name: model.run_id, created_by: "ann" };
  const { trackingRuns } = service.services.control;
  await trackingRuns.upsert(run, {});
  await trackingRuns.writeHistory(run, 0, rows);
  return { model, append: async (text: string) => await trackingRuns.writeHistory(run, rows.length, [text]) };
}

test("numbers that were logged are columns with their rows, steps and times", async () => {
  const unused = await newModel(client);
  expect(await client.modelHistory({ model_id: unused.id })).toEqual({
    run_id: unused.run_id,
    rows: 0,
    last_row: null,
    series: [],
  });
  const { model, append } = await logged([
    '{"val/reward":0.5,"_step":3,"_timestamp":1775811600.5,"note":"text","flag":true,"nested":{"a":1}}',
    '{"train/loss":-1e-3,"_step":4}',
    "[1]",
    // What is no number has no value; what is beside it does.
    '{"train/loss":NaN,"grad":-Infinity,"note":"NaN \\" Infinity","lr":0.5}',
    '{"val/reward":0.75,"train/loss":2}',
  ]);
  const history = async (more: object = {}) => await client.modelHistory({ model_id: model.id, ...more });
  const all = await history();
  expect(all).toEqual({
    run_id: model.run_id,
    rows: 5,
    last_row: 4,
    series: [
      { key: "lr", count: 1, sampled: false, rows: [3], steps: [null], times: [null], values: [0.5] },
      {
        key: "train/loss",
        count: 2,
        sampled: false,
        rows: [1, 4],
        steps: [4, null],
        times: [null, null],
        values: [-1e-3, 2],
      },
      {
        key: "val/reward",
        count: 2,
        sampled: false,
        rows: [0, 4],
        steps: [3, null],
        times: [1775811600.5, null],
        values: [0.5, 0.75],
      },
    ],
  });
  expect((await history({ keys: ["val/reward", "none"] })).series.map(({ key }) => key)).toEqual(["val/reward"]);
  await append('{"val/reward":1}');
  const later = await history({ after: all.last_row });
  expect(later).toMatchObject({ rows: 1, last_row: 5, series: [{ key: "val/reward", rows: [5], values: [1] }] });
});

test("a long history keeps the least and greatest value of each part", async () => {
  const values = Array.from({ length: 5000 }, (_, n) => (n === 1234 ? 99 : n === 4321 ? -99 : Math.sin(n / 50)));
  const { model } = await logged(values.map((value) => JSON.stringify({ loss: value, _step: 1 })));
  const { series } = await client.modelHistory({ model_id: model.id, points: 100 });
  const [loss] = series;
  expect(loss).toMatchObject({ key: "loss", count: 5000, sampled: true });
  expect(loss?.values.length).toBeLessThanOrEqual(100);
  expect(loss?.rows).toEqual(loss?.rows.toSorted((a, b) => a - b));
  for (const row of [1234, 4321]) expect(loss?.values[loss.rows.indexOf(row)]).toBe(values[row]);
  const long = await logged(Array.from({ length: 20 }, (_, n) => JSON.stringify({ n, text: "x".repeat(100_000) })));
  const read = await client.modelHistory({ model_id: long.model.id });
  expect(read).toMatchObject({ rows: 20, series: [{ key: "n", values: Array.from({ length: 20 }, (_, n) => n) }] });
  const whole = await client.modelHistory({ model_id: model.id, points: 10_000 });
  expect(whole.series[0]).toMatchObject({ sampled: false, values });
});

test("too many names are refused, and a model of another project is not found", async () => {
  const names = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`m${n}`, n]));
  const { model } = await logged([JSON.stringify(names)]);
  await expect(client.modelHistory({ model_id: model.id })).rejects.toMatchObject({ status: 413 });
  expect((await client.modelHistory({ model_id: model.id, keys: ["m1000"] })).series).toHaveLength(1);
  const other = service.training(await service.key({ entity: "rival" }));
  await expect(other.modelHistory({ model_id: model.id })).rejects.toMatchObject({ status: 404 });
});
