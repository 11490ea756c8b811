import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ClaimedJob, ControlPlane, Job, Jobs } from "../src/index.js";

const project = "acme/demo";
const second = 1_000_000n;
const leaseUs = 10n * second;

/** What a runner and a user may expect of jobs on any back end. `make` gives the URL of an empty database. */
export function jobCases(backEnd: string, make: () => Promise<string>): void {
  async function open(services = 1): Promise<{ planes: ControlPlane[]; clock: { now: bigint }; jobs: Jobs }> {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now: () => clock.now }));
    onTestFinished(async () => void (await Promise.all(planes.map(async (plane) => await plane.close()))));
    const [first] = planes;
    if (first === undefined) throw new Error("no service");
    return { planes, clock, jobs: first.jobs };
  }

  const add = async (jobs: Jobs, id: string, more: Partial<Job> = {}) => {
    const { project_id = project, kind = "evaluate", serial_key, payload = "{}" } = more;
    await jobs.add({ id, project_id, kind, payload, serial_key: serial_key ?? undefined });
  };
  const claim = async (jobs: Jobs, kinds = ["evaluate"]) => await jobs.claim({ kinds, lease_us: leaseUs });
  const claimed = async (jobs: Jobs): Promise<ClaimedJob> => {
    const job = await claim(jobs);
    if (job === undefined) throw new Error("no job to claim");
    return job;
  };
  const progress = { completed: 3, total: 9 };

  describe(`jobs on ${backEnd}`, () => {
    test("a job is read as it was added, in its own project only, whatever its texts hold", async () => {
      const { jobs, clock } = await open();
      const id = "a%20b\0\ud800";
      const payload = JSON.stringify({ text: "\0 % \ud800 ü" }) + "\0";
      await add(jobs, id, { payload, serial_key: "model\0" });
      const job = {
        id,
        project_id: project,
        kind: "evaluate",
        serial_key: "model\0",
        payload,
        state: "queued",
        error: null,
        attempts: 0,
        progress: { completed: 0, total: null },
        created_at: clock.now,
        ended_at: null,
      };
      expect(await jobs.get(project, id)).toEqual(job);
      expect(await jobs.get("acme/other", id)).toBeUndefined();
      await expect(add(jobs, id)).rejects.toMatchObject({ code: "conflict", loc: ["id"] });
      expect(await claim(jobs)).toMatchObject({ ...job, state: "running", attempts: 1, cancel_requested: false });
    });

    test("jobs of a project are claimed in the order of their creation, each by one runner", async () => {
      const { planes, jobs } = await open(2);
      const ids = Array.from({ length: 12 }, (_, n) => `job-${n}`);
      for (const id of ids) await add(jobs, id);
      expect((await claimed(jobs)).id).toBe("job-0");
      const rest = await Promise.all(
        ids.map(async (_, n) => (await claim((n % 2 === 0 ? planes[0] : planes[1])?.jobs ?? jobs))?.id),
      );
      expect(rest.filter((id) => id !== undefined).toSorted()).toEqual(ids.slice(1).toSorted());
      expect(await claim(jobs)).toBeUndefined();
    });

    test("jobs with one serial key run one at a time, in the order of their creation, also after a failed attempt", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "first", { serial_key: "model" });
      await add(jobs, "second", { serial_key: "model", project_id: "acme/other" });
      await add(jobs, "free");
      const first = await claimed(jobs);
      expect(first.id).toBe("first");
      expect((await claimed(jobs)).id).toBe("free");
      expect(await claim(jobs)).toBeUndefined();
      await jobs.giveBack(first, { delay_us: second, counted: true });
      expect(await claim(jobs)).toBeUndefined();
      clock.now += second;
      const again = await claimed(jobs);
      expect(again).toMatchObject({ id: "first", attempts: 2 });
      await jobs.finish(again, "failed", "no memory");
      expect((await claimed(jobs)).id).toBe("second");
    });

    test("a project with many jobs does not hold up the jobs of others", async () => {
      const { jobs, clock } = await open();
      for (let n = 0; n < 5; n++) await add(jobs, `many-${n}`, { project_id: "acme/many" });
      await add(jobs, "few-0", { project_id: "acme/few" });
      await add(jobs, "few-1", { project_id: "acme/few" });
      const order: string[] = [];
      // Two at a time, then one at a time.
      for (let n = 0; n < 2; n++) order.push((await claimed(jobs)).id);
      expect(order).toEqual(["many-0", "few-0"]);
      for (;;) {
        clock.now += 1n;
        const job = await claim(jobs);
        if (job === undefined) break;
        order.push(job.id);
        await jobs.finish(job, "succeeded");
      }
      expect(order).toEqual(["many-0", "few-0", "many-1", "few-1", "many-2", "many-3", "many-4"]);
    });

    test("a job is claimed only by a runner of its kind", async () => {
      const { jobs } = await open();
      await add(jobs, "train", { kind: "train" });
      expect(await claim(jobs)).toBeUndefined();
      expect(await claim(jobs, [])).toBeUndefined();
      expect(await claim(jobs, ["evaluate", "train"])).toMatchObject({ id: "train", kind: "train" });
    });

    test("a runner that renews its lease keeps the job; one that does not loses it, and cannot change it any more", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "job");
      const first = await claimed(jobs);
      clock.now += leaseUs - 1n;
      expect(await jobs.renew(first, { lease_us: leaseUs, progress })).toBe("held");
      expect(await jobs.get(project, "job")).toMatchObject({ progress });
      clock.now += leaseUs - 1n;
      expect(await claim(jobs)).toBeUndefined();
      expect(await jobs.nextDue(["evaluate"])).toBe(clock.now + 1n);
      clock.now += 1n;
      const next = await claimed(jobs);
      expect(next).toMatchObject({ id: "job", attempts: 2, progress });
      expect(await jobs.renew(first, { lease_us: leaseUs, progress: { completed: 0, total: null } })).toBe("lost");
      expect(await jobs.giveBack(first, { delay_us: 0n, counted: true })).toBe(false);
      expect(await jobs.finish(first, "failed", "late")).toBe(false);
      expect(await jobs.get(project, "job")).toMatchObject({ state: "running", error: null, progress });
      expect(await jobs.finish(next, "succeeded")).toBe(true);
    });

    test("an ended job never changes again", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "job");
      const job = await claimed(jobs);
      clock.now += 7n;
      expect(await jobs.finish(job, "failed", "the model\0 is gone")).toBe(true);
      const ended = await jobs.get(project, "job");
      expect(ended).toMatchObject({ state: "failed", error: "the model\0 is gone", ended_at: clock.now });
      clock.now += 100n * second;
      expect(await jobs.finish(job, "succeeded")).toBe(false);
      expect(await jobs.giveBack(job, { delay_us: 0n, counted: false })).toBe(false);
      expect(await jobs.cancel(project, ["job"])).toEqual([]);
      expect(await claim(jobs)).toBeUndefined();
      expect(await jobs.nextDue(["evaluate"])).toBeUndefined();
      expect(await jobs.get(project, "job")).toEqual(ended);
    });

    test("a job that is given back waits its delay; only attempts that count are counted", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "job");
      await jobs.giveBack(await claimed(jobs), { delay_us: 5n * second, counted: true });
      expect(await claim(jobs)).toBeUndefined();
      expect(await jobs.nextDue(["evaluate"])).toBe(clock.now + 5n * second);
      expect(await jobs.nextDue(["train"])).toBeUndefined();
      clock.now += 5n * second;
      const again = await claimed(jobs);
      expect(again.attempts).toBe(2);
      await jobs.giveBack(again, { delay_us: 0n, counted: false });
      expect((await claimed(jobs)).attempts).toBe(2);
    });

    test("a waiting job is cancelled at once, a running one by its runner, and another project's not at all", async () => {
      const { jobs } = await open();
      await add(jobs, "running");
      const job = await claimed(jobs);
      await add(jobs, "waiting");
      expect(await jobs.cancel("acme/other", ["running", "waiting"])).toEqual([]);
      expect(await jobs.cancel(project, ["waiting", "running", "unknown"])).toEqual(["running"]);
      expect(await jobs.get(project, "waiting")).toMatchObject({ state: "cancelled" });
      expect(await jobs.get(project, "running")).toMatchObject({ state: "running" });
      expect(await jobs.renew(job, { lease_us: leaseUs, progress })).toBe("cancelled");
      expect(await jobs.finish(job, "cancelled")).toBe(true);
      expect(await claim(jobs)).toBeUndefined();
    });

    test("a job that was cancelled while its runner had it is never run again, only ended", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "given back");
      await jobs.cancel(project, []);
      const job = await claimed(jobs);
      await jobs.cancel(project, ["given back"]);
      expect(await jobs.giveBack(job, { delay_us: 60n * second, counted: true })).toBe(true);
      const next = await claimed(jobs);
      expect(next).toMatchObject({ id: "given back", cancel_requested: true });
      clock.now += leaseUs;
      expect(await claimed(jobs)).toMatchObject({ id: "given back", cancel_requested: true });
    });

    test("jobs that wait and run are counted by kind, those that have ended are not", async () => {
      const { jobs } = await open();
      expect(await jobs.active()).toEqual([]);
      for (const id of ["a", "b", "c"]) await add(jobs, id);
      await add(jobs, "d", { kind: "train", project_id: "acme/other" });
      await jobs.finish(await claimed(jobs), "failed");
      await claimed(jobs);
      expect(await jobs.active()).toEqual([
        { kind: "evaluate", state: "queued", count: 1 },
        { kind: "train", state: "queued", count: 1 },
        { kind: "evaluate", state: "running", count: 1 },
      ]);
    });

    test("many jobs are cancelled in one call, and a large queue is still claimed in order", async () => {
      const { jobs } = await open();
      const ids = Array.from({ length: 230 }, () => randomUUID());
      for (const id of ids) await add(jobs, id);
      expect(await jobs.cancel(project, ids.slice(0, 215))).toEqual([]);
      const order: string[] = [];
      for (let job = await claim(jobs); job !== undefined; job = await claim(jobs)) order.push(job.id);
      expect(order).toEqual(ids.slice(215));
    });
  });
}
