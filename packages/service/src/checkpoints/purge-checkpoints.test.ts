import { setTimeout as delay } from "node:timers/promises";
import type { ControlPlane } from "@heddle/control-plane";
import { expect, test } from "vitest";
import { purgeLeftovers } from "./purge-checkpoints.js";

test("a purge that is stopped ends with the checkpoint it is at, and nothing follows", async () => {
  const purged: string[] = [];
  const waiting = ["one", "two", "three"].map((id) => ({ id, model_id: "model", artifact_version: null }));
  const checkpoints = {
    toPurge: async () => waiting,
    async markPurged(id: string) {
      await delay(20);
      purged.push(id);
    },
  };
  const control = { trainingJobs: { hasActive: async () => false }, trainingModels: { checkpoints } };
  const errors: unknown[] = [];
  const purge = purgeLeftovers({ control: control as unknown as ControlPlane }, (error) => errors.push(error));
  await delay(10);
  await purge.stop();
  expect(purged).toEqual(["one"]);
  await delay(50);
  expect(purged).toEqual(["one"]);
  expect(errors).toEqual([]);
});
