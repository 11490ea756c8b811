import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ClaimedJob, ControlPlane, Job, Jobs } from "../src/index.js";

const project = "acme/demo";
const second = 1_000_000n;
const leaseUs = 10n * second;

/** What a runner and a user may expect of jobs on any back end. `make` gives the URL of an empty database. */
export function jobCases(backEnd: string, make: () => Promise<string>): void {
  /** `setBy` is by how much somebody has set the clock of the machine. */
  type Clock = { now: bigint; setBy: bigint };

  async function open(services = 1): Promise<{ planes: ControlPlane[]; clock: Clock; jobs: Jobs }> {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n, setBy: 0n };
    const began = clock.now;
    const now = () => clock.now + clock.setBy;
    const monotonic = () => Number(clock.now - began) / 1000;
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now, monotonic }));
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
  const due = async (jobs: Jobs, kinds = ["evaluate"]) => await jobs.msToNextDue({ kinds, lease_us: leaseUs });
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

    /** Adds jobs `<key>-<project>-<n>`. */
    const addOf = async (jobs: Jobs, key: string, inProject: string, count: number, entity = "acme") => {
      for (let n = 0; n < count; n++) {
        const id = `${key}-${inProject}-${n}`;
        const addedBy = { key_id: key, entity };
        await jobs.add({
          id,
          project_id: `${entity}/${inProject}`,
          kind: "evaluate",
          payload: "{}",
          added_by: addedBy,
        });
      }
    };
    /** Claims and ends all jobs, one at a time. */
    const claimAll = async (jobs: Jobs, clock: { now: bigint }): Promise<string[]> => {
      const order: string[] = [];
      for (;;) {
        clock.now += 1n;
        const job = await claim(jobs);
        if (job === undefined) return order;
        order.push(job.id);
        await jobs.finish(job, "succeeded");
      }
    };

    test("entities take turns, then their keys, then the projects of a key: more projects give no more turns", async () => {
      const { jobs, clock } = await open();
      for (let n = 0; n < 5; n++) await addOf(jobs, "ann", `p${n}`, 1);
      await addOf(jobs, "bob", "p0", 2);
      await addOf(jobs, "eve", "q", 3, "rival");
      expect(await claimAll(jobs, clock)).toEqual([
        "ann-p0-0",
        "eve-q-0",
        "bob-p0-0",
        "eve-q-1",
        "ann-p1-0",
        "eve-q-2",
        "bob-p0-1",
        "ann-p2-0",
        "ann-p3-0",
        "ann-p4-0",
      ]);
    });

    test("the projects of a key take turns, also those that come later, and jobs of a project keep their order", async () => {
      const { jobs, clock } = await open();
      await addOf(jobs, "ann", "many", 4);
      const first = await claimed(jobs);
      expect(first.id).toBe("ann-many-0");
      await addOf(jobs, "ann", "late", 2);
      // A job that is given back goes on before the later ones of its project.
      await jobs.giveBack(first, { delay_us: 0n, counted: false });
      expect(await claimAll(jobs, clock)).toEqual([
        "ann-late-0",
        "ann-many-0",
        "ann-late-1",
        "ann-many-1",
        "ann-many-2",
        "ann-many-3",
      ]);
    });

    test("who has the fewest jobs running is next, and who has enough is left out", async () => {
      const { jobs } = await open();
      await addOf(jobs, "ann", "p", 3);
      await addOf(jobs, "bob", "p", 1);
      await addOf(jobs, "eve", "q", 3, "rival");
      const full = { entities: ["rival"], keys: [{ entity: "acme", key_id: "bob" }] };
      const next = async (more: object = {}) =>
        (await jobs.claim({ kinds: ["evaluate"], lease_us: leaseUs, ...more }))?.id;
      expect(await next({ full })).toBe("ann-p-0");
      expect(await jobs.waiting({ kinds: ["evaluate"] })).toEqual([
        { entity: "rival", key_id: "eve", project_id: "rival/q" },
        { entity: "acme", key_id: "bob", project_id: "acme/p" },
        { entity: "acme", key_id: "ann", project_id: "acme/p" },
      ]);
      expect(await next()).toBe("eve-q-0");
      expect(await next({ full })).toBe("ann-p-1");
      expect(await next()).toBe("eve-q-1");
      expect(await next({ full: { entities: ["rival"], keys: [] } })).toBe("bob-p-0");
      expect(await next({ pool: "training" })).toBeUndefined();
    });

    test("jobs of a key that is revoked are ended with the reason, and it adds no more", async () => {
      const { jobs, planes, clock } = await open();
      const keys = planes[0]?.keys;
      const created = await keys?.create({ user_name: "ann", entity: "acme", role: "write" });
      const key = created?.key.id ?? "";
      await addOf(jobs, key, "p", 2);
      await jobs.add({ id: "serial", project_id: project, kind: "evaluate", payload: "{}", serial_key: "m" });
      const addedBy = { key_id: key, entity: "acme" };
      const later = {
        id: "later",
        project_id: project,
        kind: "evaluate",
        payload: "{}",
        serial_key: "m",
        added_by: addedBy,
      };
      await jobs.add(later);
      const held = await claimed(jobs);
      expect(held.id).toBe(`${key}-p-0`);
      const running = await claimed(jobs);
      expect(running.id).toBe("serial");
      await keys?.revoke(key);
      expect(await jobs.renew(held, progress)).toBe("cancelled");
      await jobs.giveBack(held, { delay_us: 0n, counted: false });
      expect(await claim(jobs)).toBeUndefined();
      const ended: string[] = [];
      for (;;) {
        const job = await jobs.claimCancelled({ kinds: ["evaluate"], lease_us: leaseUs });
        if (job === undefined) break;
        expect(job.cancel_reason).toBe("the API key that asked for it was revoked");
        ended.push(job.id);
        await jobs.finish(job, "cancelled", job.cancel_reason ?? undefined);
      }
      expect(ended.toSorted()).toEqual([`${key}-p-0`, `${key}-p-1`, "later"].toSorted());
      await expect(jobs.add({ ...later, id: "another" })).rejects.toMatchObject({ code: "forbidden" });
      expect(await jobs.get(project, "another")).toBeUndefined();
      clock.now += 1n;
      expect(await jobs.finish(running, "succeeded")).toBe(true);
    });

    test("no more jobs of a key wait than may, and another key's are not refused", async () => {
      const url = await make();
      const plane = await openControlPlane({ url, waitingJobsPerKey: 2 });
      onTestFinished(async () => await plane.close());
      const { jobs } = plane;
      await addOf(jobs, "ann", "p", 2);
      await expect(addOf(jobs, "ann", "q", 1)).rejects.toMatchObject({
        code: "rate_limited",
        message: expect.stringContaining("HEDDLE_JOBS_WAITING"),
      });
      expect(await jobs.get("acme/q", "ann-q-0")).toBeUndefined();
      await addOf(jobs, "bob", "q", 1);
      await claimed(jobs);
      await addOf(jobs, "ann", "r", 1);
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
      expect(await jobs.renew(first, progress)).toBe("held");
      expect(await jobs.get(project, "job")).toMatchObject({ progress });
      clock.now += leaseUs - 1n;
      expect(await claim(jobs)).toBeUndefined();
      expect(await due(jobs)).toBeCloseTo(0.001, 6);
      clock.now += 1n;
      const next = await claimed(jobs);
      expect(next).toMatchObject({ id: "job", attempts: 2, progress });
      expect(await jobs.renew(first, { completed: 0, total: null })).toBe("lost");
      expect(await jobs.giveBack(first, { delay_us: 0n, counted: true })).toBe(false);
      expect(await jobs.finish(first, "failed", "late")).toBe(false);
      expect(await jobs.get(project, "job")).toMatchObject({ state: "running", error: null, progress });
      expect(await jobs.finish(next, "succeeded")).toBe(true);
    });

    test.each([
      ["forward", 3600n],
      ["back", -3600n],
    ])("a clock that is set %s by an hour gives no job two runners, and keeps none waiting", async (_to, seconds) => {
      const { planes, clock, jobs } = await open(2);
      const other = planes[1]?.jobs ?? jobs;
      for (const id of ["renewed", "abandoned", "delayed"]) await add(jobs, id);
      const renewed = await claimed(jobs);
      await claimed(jobs);
      await jobs.giveBack(await claimed(jobs), { delay_us: 5n * second, counted: true });
      expect(await claim(other)).toBeUndefined();

      clock.setBy = seconds * second;
      // Whose delay is over by no clock, or by one, may run; nothing that somebody has.
      const early = await claim(other);
      expect([undefined, "delayed"]).toContain(early?.id);
      if (early !== undefined) await other.finish(early, "succeeded");
      clock.now += leaseUs - 1n;
      expect(await jobs.renew(renewed, progress)).toBe("held");
      clock.now += 1n;
      const late = [early?.id, (await claim(other))?.id, (await claim(other))?.id, (await claim(other))?.id];
      expect(late.filter((id) => id !== undefined).toSorted()).toEqual(["abandoned", "delayed"]);
      expect(await jobs.finish(renewed, "succeeded")).toBe(true);
    });

    test("whose turn it is does not follow from a clock that is set back", async () => {
      const { jobs, clock } = await open();
      const addOf = async (entity: string, n: number) =>
        await jobs.add({
          id: `${entity} ${n}`,
          project_id: `${entity}/p`,
          kind: "evaluate",
          payload: "{}",
          added_by: { key_id: entity, entity },
        });
      for (const entity of ["acme", "rival"]) for (let n = 0; n < 3; n++) await addOf(entity, n);
      const order: string[] = [];
      for (let n = 0; n < 6; n++) {
        const job = await claimed(jobs);
        order.push(job.entity);
        await jobs.finish(job, "succeeded");
        clock.now += 1n;
        if (n === 0) clock.setBy = -3600n * second;
      }
      expect(order).toEqual(["acme", "rival", "acme", "rival", "acme", "rival"]);
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
      expect(await due(jobs)).toBeUndefined();
      expect(await jobs.get(project, "job")).toEqual(ended);
    });

    test("a job that is given back waits its delay; only attempts that count are counted", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "job");
      await jobs.giveBack(await claimed(jobs), { delay_us: 5n * second, counted: true });
      expect(await claim(jobs)).toBeUndefined();
      expect(await due(jobs)).toBe(5000);
      expect(await due(jobs, ["train"])).toBeUndefined();
      clock.now += 5n * second;
      const again = await claimed(jobs);
      expect(again.attempts).toBe(2);
      await jobs.giveBack(again, { delay_us: 0n, counted: false });
      expect((await claimed(jobs)).attempts).toBe(2);
    });

    test("attempts without progress are counted, so that a job whose runners are killed can still be long", async () => {
      const { jobs, clock } = await open();
      await add(jobs, "job");
      const attempt = async (completed: number) => {
        const job = await claimed(jobs);
        await jobs.renew(job, { completed, total: 9 });
        clock.now += leaseUs;
        return job.attempts;
      };
      const attempts: number[] = [];
      for (const completed of [1, 1, 1, 2, 3, 3]) attempts.push(await attempt(completed));
      expect(attempts).toEqual([1, 2, 3, 4, 2, 2]);
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
      expect(await jobs.renew(job, progress)).toBe("cancelled");
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
      const toEnd = { id: "given back", cancel_requested: true, cancel_reason: null };
      expect(await claim(jobs)).toBeUndefined();
      const cancelled = async () => await jobs.claimCancelled({ kinds: ["evaluate"], lease_us: leaseUs });
      expect(await cancelled()).toMatchObject(toEnd);
      expect(await cancelled()).toBeUndefined();
      clock.now += leaseUs;
      const last = await cancelled();
      expect(last).toMatchObject(toEnd);
      // What ends it failed, and is tried again later.
      if (last !== undefined) await jobs.giveBack(last, { delay_us: second, counted: false });
      expect(await cancelled()).toBeUndefined();
      clock.now += second;
      expect(await cancelled()).toMatchObject(toEnd);
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
