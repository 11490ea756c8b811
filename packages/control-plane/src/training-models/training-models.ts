import type { Database } from "../database/database.js";
import {
  addCheckpoint,
  checkpointAtStep,
  checkpointOfArtifact,
  checkpointsToPurge,
  deleteCheckpoints,
  findWeights,
  markPurged,
  mergeMetrics,
  newestCheckpoint,
  pageCheckpoints,
} from "./checkpoints.js";
import type { NewCheckpoint, KnownWeights } from "./checkpoints.js";
import { createModel, deleteModel, findModel, getModel, listModels } from "./models.js";
import type { NewTrainingModel } from "./models.js";
import { searchModels } from "./search-models.js";
import type { FoundModel, ModelSearch } from "./search-models.js";
import type { CursorPage } from "../database/page.js";
import type { Checkpoint, TrainingModel } from "./records.js";

/**
 * Models that are trained, and their checkpoints. Ids are unique among all projects: whoever looks up a model by its id
 * checks that the caller may read its project. A deleted model or checkpoint does not exist, except where it is said.
 */
export interface TrainingModels {
  /**
   * Creates a model with its checkpoint of step 0. A model of that name in the project is returned as it is, also to
   * callers that create it at the same time. Throws `unprocessable` for a name that cannot be kept.
   */
  create(model: NewTrainingModel): Promise<{ model: TrainingModel; created: boolean }>;
  get(id: string): Promise<TrainingModel | undefined>;
  find(projectId: string, name: string): Promise<TrainingModel | undefined>;
  /**
   * Models of all projects, of one entity or of one name, newest first, each with the step of its newest checkpoint. At
   * most `limit`, by default 100.
   */
  search(search: ModelSearch): Promise<FoundModel[]>;
  /** A page in the order of creation. Throws `invalid` for an unknown cursor. */
  list(projectId: string, page: CursorPage): Promise<{ models: TrainingModel[]; has_more: boolean }>;
  /**
   * Deletes a model and its checkpoints, and frees its name. Returns the number of checkpoints that it had. Throws
   * `not_found` for a model that does not exist.
   */
  delete(id: string): Promise<{ deleted_checkpoints: number }>;
  checkpoints: Checkpoints;
}

export interface Checkpoints {
  /** A page in the order of steps. A deleted checkpoint is still a cursor. Throws `invalid` for an unknown cursor. */
  page(modelId: string, page: CursorPage): Promise<{ checkpoints: Checkpoint[]; has_more: boolean }>;
  newest(modelId: string): Promise<Checkpoint | undefined>;
  /** With `deleted`, also a deleted checkpoint whose weights are still stored. */
  atStep(modelId: string, step: number, options?: { deleted?: boolean }): Promise<Checkpoint | undefined>;
  /** The checkpoint whose weights are a version of an artifact. */
  ofArtifact(modelId: string, artifactVersion: string): Promise<Checkpoint | undefined>;
  /**
   * Adds the result of a job. Its step is one more than that of any checkpoint that the model ever had. A job adds one
   * checkpoint: called again for the same job, it returns the first. Throws `not_found` for a model that does not exist,
   * `too_large` for more than 10,000 metrics.
   */
  add(checkpoint: NewCheckpoint): Promise<Checkpoint>;
  /** Deletes checkpoints by their steps and returns them. Throws `not_found` for a model that does not exist. */
  delete(modelId: string, steps: readonly number[]): Promise<Checkpoint[]>;
  /**
   * Adds metrics; those of the same names are replaced. Throws `not_found` for a checkpoint that does not exist,
   * `too_large` for more than 10,000 metrics.
   */
  mergeMetrics(checkpointId: string, metrics: Readonly<Record<string, number>>): Promise<Checkpoint>;
  /** Deleted checkpoints, of one model or all, whose artifact versions are not deleted yet. */
  toPurge(modelId?: string): Promise<Checkpoint[]>;
  /** The weights of these digests that checkpoints have or had, by digest. */
  findWeights(digests: readonly string[]): Promise<Map<string, KnownWeights>>;
  /** Records that the artifact version of a deleted checkpoint is deleted. */
  markPurged(checkpointId: string): Promise<void>;
}

export function openTrainingModels(database: Database, now: () => bigint): TrainingModels {
  return {
    create: async (model) => await createModel(database, model, now()),
    get: async (id) => await getModel(database, id),
    find: async (projectId, name) => await findModel(database, projectId, name),
    search: async (search) => await searchModels(database, search),
    list: async (projectId, page) => await listModels(database, projectId, page),
    delete: async (id) => await deleteModel(database, id, now()),
    checkpoints: {
      page: async (modelId, page) => await pageCheckpoints(database, modelId, page),
      newest: async (modelId) => await newestCheckpoint(database, modelId),
      atStep: async (modelId, step, { deleted = false } = {}) =>
        await checkpointAtStep(database, modelId, step, deleted),
      ofArtifact: async (modelId, version) => await checkpointOfArtifact(database, modelId, version),
      add: async (checkpoint) => await addCheckpoint(database, checkpoint, now()),
      delete: async (modelId, steps) => await deleteCheckpoints(database, modelId, steps, now()),
      mergeMetrics: async (checkpointId, metrics) => await mergeMetrics(database, checkpointId, metrics),
      toPurge: async (modelId) => await checkpointsToPurge(database, modelId),
      findWeights: async (digests) => await findWeights(database, digests),
      markPurged: async (checkpointId) => await markPurged(database, checkpointId),
    },
  };
}
