import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ControlPlane, NewTrainingJob, TrainingJobRecord } from "../src/index.js";

const project = "acme/demo";

/** What the training interface may expect of training jobs on any back end. `make` gives the URL of an empty database. */
export function trainingJobCases(backEnd: string, make: () => Promise<string>): void {
  async function open(services = 1) {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now: () => clock.now }));
    onTestFinished(async () => void (await Promise.all(planes.map(async (plane) => await plane.close()))));
    const [plane] = planes;
    if (plane === undefined) throw new Error("no service");
    return { planes, plane, clock, jobs: plane.trainingJobs, model: await newModel(plane) };
  }

  async function newModel(plane: ControlPlane, name = "agent", projectId = project): Promise<string> {
    const ids = { id: randomUUID(), checkpoint_id: randomUUID(), run_id: "run", created_by: "ann" };
    const { model } = await plane.trainingModels.create({ ...ids, project_id: projectId, name, base_model: "tiny" });
    return model.id;
  }

  const newJob = (model: string, more: Partial<NewTrainingJob> = {}): NewTrainingJob => ({
    id: randomUUID(),
    project_id: project,
    model_id: model,
    kind: "rl",
    queue_kind: "train-rl",
    request_digest: randomUUID(),
    config: "{}",
    created_by: "ann",
    ...more,
  });
  const create = async (plane: ControlPlane, model: string, more: Partial<NewTrainingJob> = {}) =>
    (await plane.trainingJobs.create(newJob(model, more))).job;
  const result = (more: object = {}) => ({
    checkpoint: { id: randomUUID(), metrics: { "train/reward": 1 } },
    weights: null,
    optimizer_files: [{ path: "optimizer.safetensors", blob: "sha256/aa" }],
    data: { num_gradient_steps: 1 },
    ...more,
  });
  const failure = { state: "failed", error_message: "no memory \0", error_type: "failed" } as const;
  const typesOf = async (plane: ControlPlane, { id }: TrainingJobRecord) =>
    (await plane.trainingJobs.events.page({ job_id: id, limit: 100 })).map(({ type }) => type);
  const gradientStep = (index: number) => ({ type: "gradient_step", index, data: `{"loss":${index}}` }) as const;
  const startedEvent = { type: "training_started", num_sequences: 3, data: '{"num_sequences":3}' } as const;

  describe(`training jobs on ${backEnd}`, () => {
    test("a job is read as it was created, and waits in the queue behind those of its model", async () => {
      const { plane, jobs, model, clock } = await open();
      const config = '{"learning_rate":1e-5,"text":"\\u0000 % \ud800"}';
      const job = await create(plane, model, { config, data_blob: "sha256/ab", call_ids: ["a\0", "b"] });
      expect(job).toMatchObject({ state: "queued", config, data_blob: "sha256/ab", call_ids: ["a\0", "b"] });
      expect(job).toMatchObject({ created_at: clock.now, started_at: null, num_sequences: null, step: null });
      expect(await jobs.get(job.id)).toEqual(job);
      for (const id of [randomUUID(), "a\0", "\ud800"]) expect(await jobs.get(id)).toBeUndefined();
      const queued = await plane.jobs.get(project, job.id);
      expect(queued).toMatchObject({ kind: "train-rl", serial_key: model, state: "queued" });
      const second = await create(plane, model);
      const other = await create(plane, await newModel(plane, "agent", "acme/other"), { project_id: "acme/other" });
      expect([await jobs.position(job.id), await jobs.position(second.id), await jobs.position(other.id)]).toEqual([
        0, 1, 0,
      ]);
      const page = await jobs.page(model, { limit: 1, order: "desc" });
      expect(page).toEqual({ jobs: [second], has_more: true });
      expect((await jobs.page(model, { limit: 9, order: "desc", after: second.id })).jobs).toEqual([job]);
      await expect(jobs.page(model, { limit: 9, after: other.id })).rejects.toMatchObject({ code: "invalid" });
    });

    test("equal requests make one job while it waits or runs, also when they are sent at the same time", async () => {
      const { planes, plane, jobs, model } = await open(2);
      const request = { request_digest: "same" };
      const createdJobs = await Promise.all(
        Array.from(
          { length: 10 },
          async (_, n) => await (planes[n % 2] ?? plane).trainingJobs.create(newJob(model, request)),
        ),
      );
      expect(new Set(createdJobs.map(({ job }) => job.id)).size).toBe(1);
      expect(createdJobs.filter(({ created }) => created)).toHaveLength(1);
      const [first] = createdJobs;
      if (first === undefined) throw new Error("no job");
      await jobs.start(first.job.id);
      expect((await jobs.create(newJob(model, request))).job.id).toBe(first.job.id);
      expect((await jobs.create(newJob(await newModel(plane, "other"), request))).created).toBe(true);
      await jobs.succeed(first.job.id, result());
      expect((await jobs.create(newJob(model, request))).created).toBe(true);
    });

    const onFiles = ["sft", "preference"] as const;
    test.each(onFiles)(
      "an equal job is not made again after it has succeeded, unless that is forced: %s",
      async (kind) => {
        const { plane, jobs, model } = await open();
        const request = { kind, request_digest: "same" } as const;
        const first = await create(plane, model, request);
        await jobs.start(first.id);
        await jobs.fail({ id: first.id }, failure);
        const second = await create(plane, model, request);
        expect(second.id).not.toBe(first.id);
        await jobs.start(second.id);
        await jobs.succeed(second.id, result());
        expect((await create(plane, model, request)).id).toBe(second.id);
        const forced = await create(plane, model, { ...request, force: true });
        expect(forced.id).not.toBe(second.id);
        expect((await create(plane, model, request)).id).toBe(forced.id);
      },
    );

    test("an idempotency key names one job, and only its own request", async () => {
      const { plane, jobs, model } = await open();
      const request = { request_digest: "same", idempotency_key: "ann\0 1" };
      const first = await create(plane, model, { ...request, idempotency_key: "another" });
      expect((await create(plane, model, request)).id).toBe(first.id);
      await jobs.fail({ id: first.id }, failure);
      expect((await create(plane, model, request)).id).toBe(first.id);
      const other = create(plane, model, { ...request, request_digest: "other" });
      await expect(other).rejects.toMatchObject({ code: "unprocessable", loc: ["Idempotency-Key"] });
    });

    test("a model that was deleted gets no job, and its jobs end", async () => {
      const { plane, jobs, model } = await open();
      const job = await create(plane, model);
      await jobs.start(job.id);
      await plane.trainingModels.delete(model);
      await expect(create(plane, model)).rejects.toMatchObject({ code: "not_found" });
      await expect(jobs.succeed(job.id, result())).rejects.toMatchObject({ code: "not_found" });
      const cancelled = { ...failure, state: "cancelled" } as const;
      expect(await jobs.fail({ model_id: model }, cancelled)).toEqual([job.id]);
      expect(await typesOf(plane, job)).toEqual(["training_failed"]);
    });

    test("events have one order, are stored once, and are read page by page", async () => {
      const { plane, jobs, model, clock } = await open();
      const job = await create(plane, model);
      expect(await jobs.events.add(job.id, startedEvent)).toBe(false);
      expect(await jobs.start(job.id)).toMatchObject({ state: "running", from_step: 0 });
      expect(await jobs.stepsInUse(model)).toEqual(new Set([0]));
      clock.now += 5n;
      expect(await jobs.events.reported(job.id)).toEqual({ started: false, gradientSteps: 0 });
      for (const event of [startedEvent, gradientStep(0), gradientStep(1)]) await jobs.events.add(job.id, event);
      // A second attempt reports the last step again, and goes on.
      await plane.trainingModels.checkpoints.delete(model, [0]);
      expect(await jobs.start(job.id)).toMatchObject({ state: "running", from_step: 0 });
      expect(await jobs.events.reported(job.id)).toEqual({ started: true, gradientSteps: 2 });
      await jobs.events.add(job.id, { ...gradientStep(1), data: '{"loss":9}' });
      for (const warnings of [["long\0"], ["long\0", "empty"]]) {
        await jobs.events.add(job.id, { ...startedEvent, warnings });
        expect(await jobs.get(job.id)).toMatchObject({ warnings });
      }
      expect(await jobs.events.add(job.id, gradientStep(2))).toBe(true);
      expect(await jobs.get(job.id)).toMatchObject({ num_sequences: 3, completed_sequences: 3, phase: "preparing" });
      const all = await jobs.events.page({ job_id: job.id, limit: 100 });
      expect(all.map(({ data }) => data)).toEqual(['{"num_sequences":3}', ...[0, 1, 2].map((n) => `{"loss":${n}}`)]);
      const paged = [];
      for (let after: string | undefined; paged.length < all.length; after = paged.at(-1)?.id) {
        paged.push(...(await jobs.events.page({ job_id: job.id, limit: 3, ...(after !== undefined && { after }) })));
      }
      expect(paged).toEqual(all);
      const other = await create(plane, model);
      for (const after of [randomUUID(), "\0", all[0]?.id]) {
        const page = jobs.events.page({ job_id: other.id, limit: 1, ...(after !== undefined && { after }) });
        await expect(page).rejects.toMatchObject({ code: "invalid", loc: ["after"] });
      }
    });

    test("a job ends once: the checkpoint and the last event become visible together", async () => {
      const { plane, jobs, model, clock } = await open();
      const job = await create(plane, model);
      await jobs.start(job.id);
      await jobs.setPhase(job.id, "saving");
      expect(await jobs.get(job.id)).toMatchObject({ phase: "saving", started_at: clock.now });
      await jobs.events.add(job.id, startedEvent);
      const ends = Array.from({ length: 3 }, () => jobs.succeed(job.id, result()));
      // Which of them comes first is up to the connections.
      const ended = (await Promise.all(ends)).filter((checkpoint) => checkpoint !== undefined);
      expect(ended).toHaveLength(1);
      expect(await jobs.fail({ id: job.id }, failure)).toEqual([]);
      expect(ended[0]).toMatchObject({ step: 1, job_id: job.id, metrics: { "train/reward": 1 } });
      expect(await plane.trainingModels.checkpoints.newest(model)).toEqual(ended[0]);
      expect(await typesOf(plane, job)).toEqual(["training_started", "training_ended"]);
      const [, last] = await jobs.events.page({ job_id: job.id, limit: 9 });
      expect(JSON.parse(last?.data ?? "")).toEqual({ num_gradient_steps: 1, step: 1, checkpoint_id: ended[0]?.id });
      expect(await jobs.get(job.id)).toMatchObject({
        state: "succeeded",
        phase: null,
        step: 1,
        checkpoint_id: ended[0]?.id,
      });
      expect(await jobs.start(job.id)).toBeUndefined();
      expect(await jobs.events.add(job.id, gradientStep(0))).toBe(false);

      const next = await create(plane, model);
      expect(await jobs.fail({ id: next.id }, failure)).toEqual([next.id]);
      expect(await jobs.succeed(next.id, result())).toBeUndefined();
      expect(await jobs.get(next.id)).toMatchObject({ ...failure, ended_at: clock.now });
      const [failed] = await jobs.events.page({ job_id: next.id, limit: 9 });
      expect(failed).toMatchObject({ type: "training_failed" });
      expect(JSON.parse(failed?.data ?? "")).toEqual({ error_message: "no memory \0", error_type: "failed" });
    });

    test("a job that succeeds and fails at once has one of these ends", async () => {
      const { plane, jobs, model } = await open();
      const job = await create(plane, model);
      await jobs.start(job.id);
      const [checkpoint, failed] = await Promise.all([
        jobs.succeed(job.id, result()),
        jobs.fail({ id: job.id }, failure),
      ]);
      expect(failed).toEqual(checkpoint === undefined ? [job.id] : []);
      const state = checkpoint === undefined ? "failed" : "succeeded";
      expect(await jobs.get(job.id)).toMatchObject({ state, checkpoint_id: checkpoint?.id ?? null });
      expect(await typesOf(plane, job)).toEqual([checkpoint === undefined ? "training_failed" : "training_ended"]);
    });

    test("the weights of a job are a version of the artifact with the name of the model", async () => {
      const { plane, jobs, model } = await open();
      const [sha256, md5] = ["a".repeat(64), "b".repeat(32)];
      await plane.artifacts.addUpload(project, { sha256, md5, size_bytes: 4 });
      const files = [{ path: "adapter_model.safetensors", sha256 }];
      const train = async (weights: object) => {
        const job = await create(plane, model);
        await jobs.start(job.id);
        return await jobs.succeed(job.id, result({ weights }));
      };
      const first = await train({ files, metadata: '{"base_model":"tiny"}' });
      const second = await train({ files });
      for (const [at, checkpoint] of [first, second].entries()) {
        const version = await plane.artifacts.get(project, "agent", `step${at + 1}`);
        // As the version of step 0 would be v0.
        const index = at + 1;
        expect(version).toMatchObject({ id: checkpoint?.artifact_version, digest: checkpoint?.weights_digest, index });
      }
      expect(await plane.artifacts.get(project, "agent")).toMatchObject({ aliases: ["latest", "step2"], type: "lora" });
      const missing = train({ files: [{ path: "adapter_model.safetensors", sha256: "c".repeat(64) }] });
      await expect(missing).rejects.toMatchObject({ code: "unprocessable" });
      expect(await plane.trainingModels.checkpoints.newest(model)).toEqual(second);
    });

    test("data are kept until the job has ended, the optimizer state until the next one of the model", async () => {
      const { plane, jobs, model } = await open();
      const keys = ["sha256/data", "sha256/first", "sha256/second", "sha256/none"];
      const first = await create(plane, model, { data_blob: "sha256/data" });
      expect(await jobs.blobsInUse(keys)).toEqual(new Set(["sha256/data"]));
      await jobs.start(first.id);
      await jobs.succeed(first.id, result({ optimizer_files: [{ path: "o", blob: "sha256/first" }] }));
      expect(await jobs.blobsInUse(keys)).toEqual(new Set(["sha256/first"]));
      const second = await create(plane, model);
      await jobs.start(second.id);
      await jobs.succeed(second.id, result({ optimizer_files: [{ path: "o", blob: "sha256/second" }] }));
      expect(await jobs.blobsInUse(keys)).toEqual(new Set(["sha256/second"]));
      expect(await jobs.get(first.id)).toMatchObject({ optimizer_files: null });
    });
  });
}
