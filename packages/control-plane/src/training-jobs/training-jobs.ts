import { EventEmitter } from "node:events";
import type { Database } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { isStorable } from "../database/names.js";
import { batches, Parameters } from "../database/parameters.js";
import { originalText } from "../database/stored-text.js";
import type { WaitingLimit } from "../jobs/insert.js";
import type { JobState } from "../jobs/records.js";
import { readPage } from "../database/page.js";
import type { CursorPage } from "../database/page.js";
import type { Checkpoint } from "../training-models/records.js";
import { createTrainingJob } from "./create.js";
import type { NewTrainingJob } from "./create.js";
import { failTrainingJobs, succeedTrainingJob } from "./end.js";
import type { TrainingFailure, TrainingResult } from "./end.js";
import { addTrainingEvent, pageOfEvents, reportedEvents } from "./events.js";
import type { TrainingProgress } from "./events.js";
import { openTrainingRollouts } from "./rollouts.js";
import type { TrainingRollouts } from "./rollouts.js";
import { trainingJobColumns, trainingJobOf } from "./records.js";
import type { TrainingEventRecord, TrainingJobRecord, TrainingPhase } from "./records.js";

/**
 * Training jobs and their events. A job ends once, with one terminal event: what is done with it afterwards has no
 * effect. Ids are unique among all projects: whoever looks up a job by its id checks the caller's access to its project.
 */
export interface TrainingJobs {
  /**
   * Adds a job together with the job of the queue that does the work, or returns the job that an equal request has
   * added. Throws `not_found` for a model that does not exist, `unprocessable` for an idempotency key that another
   * request has used.
   */
  create(job: NewTrainingJob): Promise<{ job: TrainingJobRecord; created: boolean }>;
  get(id: string): Promise<TrainingJobRecord | undefined>;
  /** A page of the jobs of a model in the order of creation. Throws `invalid` for an unknown cursor. */
  page(modelId: string, page: CursorPage): Promise<{ jobs: TrainingJobRecord[]; has_more: boolean }>;
  /**
   * A page of the jobs of a project whose models are not deleted, newest first. Throws `invalid` for an unknown cursor.
   */
  pageOfProject(projectId: string, page: ProjectJobsPage): Promise<{ jobs: TrainingJobRecord[]; has_more: boolean }>;
  /** Number of jobs of the same project that wait or run and were created before. */
  position(id: string): Promise<number>;
  /** Whether a job of the model waits or runs. */
  hasActive(modelId: string): Promise<boolean>;
  /**
   * Makes a job run, from the newest checkpoint of its model; another attempt begins with the same. Returns undefined for
   * a job that has ended.
   */
  start(id: string): Promise<TrainingJobRecord | undefined>;
  /** Steps of the checkpoints that running jobs of a model began with. */
  stepsInUse(modelId: string): Promise<Set<number>>;
  /** Records what a running job does now. */
  setPhase(id: string, phase: TrainingPhase): Promise<void>;
  events: TrainingEvents;
  rollouts: TrainingRollouts;
  /**
   * Ends a running job: its checkpoint and `training_ended` become visible together. Returns undefined, and adds
   * nothing, for a job that does not run. Throws `not_found` when its model was deleted.
   */
  succeed(id: string, result: TrainingResult): Promise<Checkpoint | undefined>;
  /** Ends jobs that wait or run, each with `training_failed`. Returns the ids of those that this call has ended. */
  fail(which: { id: string } | { model_id: string }, failure: TrainingFailure): Promise<string[]>;
  /** Those of the blobs that jobs still need. */
  blobsInUse(keys: readonly string[]): Promise<Set<string>>;
}

interface ProjectJobsPage extends Pick<CursorPage, "after" | "limit"> {
  /** Only jobs in one of these states. */
  states?: readonly JobState[];
  model_id?: string;
}

interface TrainingEvents {
  /** A page of the events of a job in their order. Throws `invalid` for an unknown cursor. */
  page(request: { job_id: string; after?: string; limit: number }): Promise<TrainingEventRecord[]>;
  /**
   * Stores an event, unless an earlier attempt has stored it. Returns false, and stores nothing, for a job that does not
   * run.
   */
  add(jobId: string, event: TrainingProgress): Promise<boolean>;
  /** What earlier attempts have reported. */
  reported(jobId: string): Promise<{ started: boolean; gradientSteps: number }>;
  /** Calls `onStored` whenever this process has stored an event of the job. Returns what ends that. */
  watch(jobId: string, onStored: () => void): () => void;
}

/** `waitingPerKey`: jobs of one key that may wait. */
export function openTrainingJobs(database: Database, now: () => bigint, waitingPerKey?: WaitingLimit): TrainingJobs {
  const stored = new EventEmitter().setMaxListeners(0);
  return {
    create: async (job) => await createTrainingJob(database, job, { now: now(), waitingPerKey }),
    async get(id) {
      if (!isStorable(id)) return undefined;
      const sql = `SELECT ${trainingJobColumns} FROM training_jobs WHERE id = $1`;
      const [row] = await database.rows(sql, [id]);
      return row && trainingJobOf(row);
    },
    async page(modelId, page) {
      const source = { table: "training_jobs", columns: trainingJobColumns, position: "sequence", keepsDeleted: false };
      const { rows, hasMore } = await readPage(database, { ...source, owner: ["model_id", modelId] }, page);
      return { jobs: rows.map(trainingJobOf), has_more: hasMore };
    },
    async pageOfProject(projectId, { states = [], model_id, ...page }) {
      if (model_id !== undefined && !isStorable(model_id)) return { jobs: [], has_more: false };
      const source = { table: "training_jobs", columns: trainingJobColumns, position: "sequence", keepsDeleted: false };
      const { rows, hasMore } = await readPage(
        database,
        {
          ...source,
          owner: ["project_id", projectId],
          filters: [
            ...(states.length > 0 ? [["state", states] as const] : []),
            ...(model_id === undefined ? [] : [["model_id", [model_id]] as const]),
          ],
          condition: "NOT EXISTS (SELECT 1 FROM training_models m WHERE m.id = model_id AND m.deleted_at IS NOT NULL)",
        },
        { ...page, order: "desc" },
      );
      return { jobs: rows.map(trainingJobOf), has_more: hasMore };
    },
    async position(id) {
      const [row] = await database.rows(
        `SELECT COUNT(*) AS ahead FROM training_jobs earlier JOIN training_jobs j
            ON earlier.project_id = j.project_id AND earlier.sequence < j.sequence
          WHERE j.id = $1 AND earlier.state IN ('queued', 'running')`,
        [id],
      );
      return row === undefined ? 0 : Number(integerOf(row, "ahead"));
    },
    async hasActive(modelId) {
      const sql = "SELECT id FROM training_jobs WHERE model_id = $1 AND state IN ('queued', 'running') LIMIT 1";
      return (await database.rows(sql, [modelId])).length > 0;
    },
    async start(id) {
      const [row] = await database.rows(
        `UPDATE training_jobs SET state = 'running', phase = 'preparing', started_at = COALESCE(started_at, $2),
            from_step = CASE WHEN started_at IS NOT NULL THEN from_step ELSE
              (SELECT MAX(step) FROM checkpoints c WHERE c.model_id = training_jobs.model_id AND c.deleted_at IS NULL) END
          WHERE id = $1 AND state IN ('queued', 'running') RETURNING ${trainingJobColumns}`,
        [id, now()],
      );
      return row && trainingJobOf(row);
    },
    async stepsInUse(modelId) {
      const rows = await database.rows(
        "SELECT from_step FROM training_jobs WHERE model_id = $1 AND state = 'running' AND from_step IS NOT NULL",
        [modelId],
      );
      return new Set(rows.map((row) => Number(integerOf(row, "from_step"))));
    },
    async setPhase(id, phase) {
      await database.run("UPDATE training_jobs SET phase = $2 WHERE id = $1 AND state = 'running'", [id, phase]);
    },
    events: {
      page: async (request) => await pageOfEvents(database, request),
      async add(jobId, event) {
        const isAdded = await addTrainingEvent(database, jobId, event, now());
        stored.emit(jobId);
        return isAdded;
      },
      reported: async (jobId) => await reportedEvents(database, jobId),
      watch(jobId, onStored) {
        stored.on(jobId, onStored);
        return () => void stored.off(jobId, onStored);
      },
    },
    rollouts: openTrainingRollouts(database),
    async succeed(id, result) {
      const checkpoint = await succeedTrainingJob(database, id, result, now());
      stored.emit(id);
      return checkpoint;
    },
    async fail(which, failure) {
      const ended = await failTrainingJobs(database, which, failure, now());
      for (const id of ended) stored.emit(id);
      return ended;
    },
    blobsInUse: async (keys) => await blobsInUse(database, keys),
  };
}

/** Data of jobs that have not ended, rollouts that are kept, and the optimizer states. */
async function blobsInUse(database: Database, keys: readonly string[]): Promise<Set<string>> {
  const wanted = new Set(keys);
  const used = new Set<string>();
  for (const batch of batches(keys)) {
    const p = new Parameters();
    const rows = await database.rows(
      `SELECT data_blob FROM training_jobs WHERE state IN ('queued', 'running')
        AND data_blob IN (${batch.map((key) => p.bind(key)).join(", ")})`,
      p.values,
    );
    for (const row of rows) used.add(textOf(row, "data_blob"));
    const kept = new Parameters();
    const archives = await database.rows(
      `SELECT rollouts_blob FROM training_jobs
        WHERE rollouts_blob IN (${batch.map((key) => kept.bind(key)).join(", ")})`,
      kept.values,
    );
    for (const row of archives) used.add(textOf(row, "rollouts_blob"));
  }
  // One row per model at most.
  const states = await database.rows("SELECT optimizer_files FROM training_jobs WHERE optimizer_files IS NOT NULL");
  for (const row of states) {
    for (const { blob } of JSON.parse(originalText(textOf(row, "optimizer_files"))) as { blob: string }[]) {
      if (wanted.has(blob)) used.add(blob);
    }
  }
  return used;
}
