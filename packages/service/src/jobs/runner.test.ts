import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane, Job } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JobAttempt, JobKind } from "./job-kind.js";
import { JobRunner } from "./runner.js";

const project = "acme/demo";
let directory: string;
let url: string;
let control: ControlPlane;
let runners: JobRunner[];
let errors: unknown[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "heddle-jobs-"));
  url = pathToFileURL(join(directory, "control.db")).href;
  control = await openControlPlane({ url });
  runners = [];
  errors = [];
});
afterEach(async () => {
  for (const runner of runners) await runner.stop();
  await control.close();
  rmSync(directory, { recursive: true, force: true });
});

type Work = (attempt: JobAttempt, payload: string) => Promise<"succeeded" | "cancelled" | void>;

/** A runner with one kind of jobs. */
function start(work: Work, { concurrency = 4, leaseMs = 15_000 } = {}) {
  const failed: string[] = [];
  const cancelled: string[] = [];
  const kind: JobKind = {
    name: "work",
    run: async (job, attempt) => (await work(attempt, job.payload)) ?? "succeeded",
    fail: async (_job, error) => void failed.push(error),
    cancel: async (job) => void cancelled.push(job.id),
  };
  const ended: string[] = [];
  const runner = new JobRunner(control.jobs, {
    concurrency,
    leaseMs,
    onError: (error) => errors.push(error),
    onEnded: (name, outcome) => ended.push(`${name} ${outcome}`),
  });
  runner.start([kind]);
  runners.push(runner);
  return { runner, failed, cancelled, ended };
}

const newJob = (id: string, more: { serial_key?: string; payload?: string } = {}) => ({
  id,
  project_id: project,
  kind: "work",
  payload: "{}",
  ...more,
});

/** Resolves with the job once it has the state. */
const reached = async (id: string, state: Job["state"]): Promise<Job> =>
  await vi.waitFor(
    async () => {
      const job = await control.jobs.get(project, id);
      expect(job?.state).toBe(state);
      return job as Job;
    },
    { timeout: 20_000, interval: 5 },
  );

/** Work that lasts until it is let go or interrupted. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const pass = async ({ signal }: JobAttempt) => {
    arrive();
    const aborted = new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    await Promise.race([opened, aborted]);
  };
  return { open: () => open(), arrived, pass };
}

test("a job runs as soon as it is added, and its progress is stored with its end", async () => {
  const { runner } = start(async (attempt) => attempt.report({ completed: 2, total: 3 }));
  await delay(20); // The runner has found nothing and waits.
  const added = performance.now();
  await runner.add(newJob("job"));
  expect(await reached("job", "succeeded")).toMatchObject({ progress: { completed: 2, total: 3 }, attempts: 1 });
  expect(performance.now() - added).toBeLessThan(2000);
});

test("no more jobs run at a time than are allowed, and of a serial key one", async () => {
  let running = 0;
  let most = 0;
  const { runner } = start(
    async () => {
      running += 1;
      most = Math.max(most, running);
      await delay(5);
      running -= 1;
    },
    { concurrency: 3 },
  );
  for (let n = 0; n < 10; n++) await runner.add(newJob(`job-${n}`));
  for (let n = 0; n < 10; n++) await reached(`job-${n}`, "succeeded");
  expect(most).toBe(3);
  most = 0;
  for (let n = 0; n < 4; n++) await runner.add(newJob(`serial-${n}`, { serial_key: "model" }));
  for (let n = 0; n < 4; n++) await reached(`serial-${n}`, "succeeded");
  expect(most).toBe(1);
});

test("an error of the job's own fails it once, with its message", async () => {
  const { runner, failed, ended } = start(async () => {
    throw new HeddleError("not_found", "there is no dataset");
  });
  await runner.add(newJob("job"));
  expect(await reached("job", "failed")).toMatchObject({ error: "there is no dataset", attempts: 1 });
  expect(failed).toEqual(["there is no dataset"]);
  await vi.waitFor(() => expect(ended).toEqual(["work failed"]));
});

test("a defect is tried again, is logged, and its text is not shown", async () => {
  let attempts = 0;
  const { runner } = start(async () => {
    attempts += 1;
    if (attempts === 1) throw new TypeError("secret detail");
  });
  await runner.add(newJob("job"));
  expect(await reached("job", "succeeded")).toMatchObject({ attempts: 2, error: null });
  expect(errors).toMatchObject([{ message: "secret detail" }]);
});

test("a cancelled job is interrupted and ends as cancelled", async () => {
  const { arrived, pass } = gate();
  const { runner, cancelled } = start(pass);
  await runner.add(newJob("job"));
  await arrived;
  await runner.cancel("acme/other", ["job"]);
  expect(await control.jobs.get(project, "job")).toMatchObject({ state: "running" });
  await runner.cancel(project, ["job"]);
  await reached("job", "cancelled");
  expect(cancelled).toEqual(["job"]);
});

test("a job that has had its slice goes on after the others that wait, and no attempt counts", async () => {
  const order: string[] = [];
  const kind: JobKind = {
    name: "work",
    pool: "training",
    async run(job, attempt) {
      order.push(job.id);
      attempt.beginWork();
      for (let step = job.progress.completed; step < 3; step++) {
        if (attempt.shouldYield) return "yielded";
        attempt.report({ completed: step + 1, total: 3 });
        while (!attempt.shouldYield && order.length < 3) await delay(5);
      }
      return "succeeded";
    },
    fail: async () => {},
    cancel: async () => {},
  };
  const pools = { training: 1 };
  const runner = new JobRunner(control.jobs, { concurrency: 4, pools, sliceMs: 50, onError: (e) => errors.push(e) });
  runners.push(runner);
  for (const key of ["ann", "bob"]) {
    const addedBy = { key_id: key, entity: "acme" };
    await control.jobs.add({ ...newJob(key), project_id: project, pool: "training", added_by: addedBy });
  }
  runner.start([kind]);
  for (const id of ["ann", "bob"]) expect(await reached(id, "succeeded")).toMatchObject({ attempts: 1 });
  expect(order.slice(0, 3)).toEqual(["ann", "bob", "ann"]);
  expect(errors).toEqual([]);
});

test("a runner that stops gives its jobs back, and the attempt does not count", async () => {
  const { arrived, pass } = gate();
  const { runner } = start(pass);
  await runner.add(newJob("job"));
  await arrived;
  await runner.stop();
  expect(await control.jobs.get(project, "job")).toMatchObject({ state: "queued", attempts: 0 });
  start(async () => {});
  expect(await reached("job", "succeeded")).toMatchObject({ attempts: 1 });
});

test("a job whose process is gone is run again when its lease has ended; the late process may not write", async () => {
  await control.jobs.add(newJob("job"));
  // A process that never renews.
  const lost = await control.jobs.claim({ kinds: ["work"], lease_us: 200_000n });
  const { runner } = start(async () => {}, { leaseMs: 300 });
  expect(await reached("job", "succeeded")).toMatchObject({ attempts: 2 });
  expect(await control.jobs.finish(lost ?? newHold, "failed", "late")).toBe(false);
  await runner.stop();
});

const newHold = { id: "none", lease_token: "none" };

test("a process that lost its claim is told so before it writes", async () => {
  const { arrived, open, pass } = gate();
  const checks: unknown[] = [];
  let first = true;
  const { runner } = start(
    async (attempt) => {
      if (!first) return;
      first = false;
      await pass(attempt).catch(() => undefined);
      try {
        attempt.checkHeld();
        checks.push("held");
      } catch (error) {
        checks.push((error as HeddleError).code);
        throw error;
      }
    },
    { leaseMs: 300 },
  );
  await runner.add(newJob("job"));
  await arrived;
  // Another process takes the job over, as after a pause of this one.
  const database = await openControlPlane({ url });
  const taken = await database.jobs.claim({ kinds: ["work"], lease_us: 0n });
  expect(taken?.id).toBe("job");
  await vi.waitFor(() => expect(checks).toEqual(["aborted"]), { timeout: 3000 });
  open();
  expect(await control.jobs.get(project, "job")).toMatchObject({ state: "running", attempts: 2 });
  expect(await database.jobs.finish(taken ?? newHold, "succeeded")).toBe(true);
  await database.close();
});

test("an attempt that a clock set forward interrupts is given back at once, and is not counted", async () => {
  const { arrived, open, pass } = gate();
  const counted: number[] = [];
  const { runner } = start(async (attempt, payload) => {
    counted.push(counted.length);
    if (counted.length > 1) return;
    await pass(attempt).catch(() => undefined);
    vi.setSystemTime(Date.now() + 3_600_000);
    attempt.checkHeld();
    throw new Error(payload);
  });
  await runner.add(newJob("job"));
  await arrived;
  open();
  try {
    expect(await reached("job", "succeeded")).toMatchObject({ attempts: 1 });
  } finally {
    vi.useRealTimers();
  }
  expect(errors).toEqual([]);
});

test("a job that ends its process every time fails in the end", async () => {
  await control.jobs.add(newJob("job"));
  for (let n = 0; n < 5; n++) {
    const claim = await control.jobs.claim({ kinds: ["work"], lease_us: 0n });
    expect(claim?.attempts).toBe(n + 1);
  }
  const { failed } = start(async () => {});
  expect(await reached("job", "failed")).toMatchObject({ error: "given up after 5 attempts" });
  expect(failed).toEqual(["given up after 5 attempts"]);
});
