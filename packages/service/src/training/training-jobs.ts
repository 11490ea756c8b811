import { createHash } from "node:crypto";
import { mapConcurrently } from "@heddle/concurrency";
import type { Caller, TrainingEventRecord, TrainingJobRecord, TrainingModel } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { TrainingHandlers } from "@heddle/server-stub/training";
import { reserveForResponse } from "../limits/request-scope.js";
import { loadTrainingModel } from "../access/load-training-model.js";
import { loadTrainingJob } from "../access/load-training-job.js";
import type { Services } from "../services.js";
import { createPreferenceJob, createRlJob, createSftJob, readRlConfig } from "../training-jobs/create-job.js";
import type { RlRequestHeader } from "../training-jobs/pack-trajectories.js";
import { rolloutText } from "../training-jobs/keep-rollouts.js";
import { storeTrajectories } from "../training-jobs/store-trajectories.js";
import { purgeCheckpoints } from "../checkpoints/purge-checkpoints.js";
import { tailEvents } from "../training-jobs/tail-events.js";
import { stateOfStatus, wireRollout, wireTrainingEvent, wireTrainingJob } from "../wire/training-job.js";
import { wirePage } from "../wire/training-model.js";

/** Jobs whose positions in the queue are counted at the same time. */
const countedAtOnce = 8;
/** Texts of rollouts that are read at the same time. */
const readAtOnce = 8;

export function trainingJobHandlers(services: Services): TrainingHandlers<Caller>["trainingJobs"] {
  const { control, blobs, jobs } = services;
  const { trainingJobs } = control;

  const wire = async (job: TrainingJobRecord) =>
    wireTrainingJob(job, job.state === "queued" ? await trainingJobs.position(job.id) : 0);

  return {
    async listTrainingJobs({ query }) {
      const { project_id, status = [], model_id, after, limit } = query;
      const page = await trainingJobs.pageOfProject(project_id, {
        limit,
        states: status.map((each) => stateOfStatus[each]),
        ...(after !== undefined && { after }),
        ...(model_id !== undefined && { model_id: model_id.toLowerCase() }),
      });
      return wirePage(await mapConcurrently(page.jobs, countedAtOnce, wire), page.has_more);
    },

    async createRlTrainingJob({ body, headers }, caller) {
      const hash = createHash("sha256");
      let target: { model: TrainingModel; config: Awaited<ReturnType<typeof readRlConfig>> } | undefined;
      async function* sent(): AsyncGenerator<Uint8Array> {
        for await (const chunk of body.stream) {
          hash.update(chunk);
          yield chunk;
        }
      }
      const readHeader = async ({ model_id, experimental_config = {} }: RlRequestHeader) => {
        const model = await loadTrainingModel(control, caller, model_id);
        const owner = { caller, projectId: model.project_id };
        target = { model, config: await readRlConfig(services, owner, experimental_config) };
      };
      const trajectories = await storeTrajectories(services, sent(), readHeader);
      if (target === undefined) throw new TypeError("the body was stored without its header");
      const { model, config } = target;
      const job = await createRlJob(services, {
        ...config,
        caller,
        model,
        idempotencyKey: headers["Idempotency-Key"],
        trajectories,
        digest: hash.digest("hex"),
      });
      return await wire(job);
    },

    async createSftTrainingJob({ body, headers }, caller) {
      const { model_id, training_data_url, training_folder_url, config = {}, experimental_config = {}, force } = body;
      const dataUrl = training_data_url ?? training_folder_url;
      if (dataUrl === undefined)
        throw new HeddleError("unprocessable", "Field required", { loc: ["training_data_url"] });
      const model = await loadTrainingModel(control, caller, model_id);
      const idempotencyKey = headers["Idempotency-Key"];
      const request = {
        caller,
        model,
        idempotencyKey,
        dataUrl,
        config,
        experimentalConfig: experimental_config,
        force,
      };
      return await wire(await createSftJob(services, request));
    },

    async createPreferenceTrainingJob({ body, headers }, caller) {
      const { model_id, training_data_url: dataUrl, config = {}, force } = body;
      const model = await loadTrainingModel(control, caller, model_id);
      const idempotencyKey = headers["Idempotency-Key"];
      return await wire(await createPreferenceJob(services, { caller, model, idempotencyKey, dataUrl, config, force }));
    },

    async getTrainingJob({ params }, caller) {
      return await wire(await loadTrainingJob(control, caller, params.training_job_id));
    },

    async listTrainingJobEvents({ params, query }, caller) {
      const { id } = await loadTrainingJob(control, caller, params.training_job_id);
      const { after, limit } = query;
      const request = { job_id: id, limit: limit + 1, ...(after !== undefined && { after }) };
      const events = await trainingJobs.events.page(request);
      return wirePage(events.slice(0, limit).map(wireTrainingEvent), events.length > limit);
    },

    async tailTrainingJobEvents({ params, headers, signal }, caller) {
      const job = await loadTrainingJob(control, caller, params.training_job_id);
      return wireEvents(await tailEvents(control, job, { after: headers["Last-Event-ID"], signal }));
    },

    async listTrainingJobRollouts({ params, query }, caller) {
      const job = await loadTrainingJob(control, caller, params.training_job_id);
      const { include = [], sort_by, group, after, limit, order } = query;
      const reserve = reserveForResponse(["limit"]);
      const request = { sort_by, limit, order, reserve, ...(after !== undefined && { after }) };
      const page = await trainingJobs.rollouts.page(job.id, { ...request, ...(group !== undefined && { group }) });
      if (!include.includes("data")) return wirePage(page.rollouts.map(wireRollout), page.has_more);
      await reserve(page.rollouts.reduce((sum, { text }) => sum + (text?.length ?? 0), 0));
      const items = await mapConcurrently(page.rollouts, readAtOnce, async (rollout) => {
        const data = await rolloutText(blobs, job, rollout);
        return { ...wireRollout(rollout), ...(data && { data }) };
      });
      return wirePage(items, page.has_more);
    },

    async listModelTrainingJobs({ params, query }, caller) {
      const model = await loadTrainingModel(control, caller, params.model_id);
      const page = await trainingJobs.page(model.id, query);
      return wirePage(await mapConcurrently(page.jobs, countedAtOnce, wire), page.has_more);
    },

    async cancelTrainingJob({ params }, caller) {
      const { id, project_id, model_id } = await loadTrainingJob(control, caller, params.training_job_id);
      await trainingJobs.fail(
        { id },
        { state: "cancelled", error_message: "the job was cancelled", error_type: "cancelled" },
      );
      await jobs.cancel(project_id, [id]);
      await purgeCheckpoints(services, model_id);
      return await wire(await loadTrainingJob(control, caller, id));
    },
  };
}

async function* wireEvents(events: AsyncIterable<TrainingEventRecord | Buffer>) {
  for await (const event of events) yield "data" in event ? wireTrainingEvent(event) : event;
}
