import { setTimeout as delay } from "node:timers/promises";
import { newProject } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { readPage } from "./read-page.js";

export type TrainingClient = ReturnType<TestService["training"]>;

/** A new model of a project that no other test uses. */
export async function newModel(client: TrainingClient, projectId = newProject(), name = "agent") {
  const [entity = "", project = ""] = projectId.split("/");
  return await client.createModel({ entity, project, name, base_model: "random:tiny", return_existing: true });
}

export interface JobEvent {
  id: string;
  type: string;
  created_at: string;
  data: Record<string, unknown>;
}

/** All events of a job, read as clients do: page by page, until the last one is terminal. */
export async function eventsOf(service: TestService, jobId: string, limit = 20): Promise<JobEvent[]> {
  const path = `/v1/preview/training-jobs/${jobId}/events`;
  const events: JobEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.id;
    const page = await readPage<JobEvent>(service, path, { limit, ...(after !== undefined && { after }) });
    events.push(...page.data);
    const last = events.at(-1)?.type;
    if (last === "training_ended" || last === "training_failed") return events;
    if (!page.has_more) await delay(20);
  }
}

export interface ListedCheckpoint {
  id: string;
  step: number;
  untrained: boolean;
  job_id: string | null;
  metrics: Record<string, number>;
  parity: { max_difference: number; tolerance: number; tokens: number; checked_at: string } | null;
}

export async function newestCheckpoint(service: TestService, modelId: string): Promise<ListedCheckpoint | undefined> {
  const path = `/v1/preview/models/${modelId}/checkpoints`;
  const { data } = await readPage<ListedCheckpoint>(service, path, { limit: 1, order: "desc" });
  return data[0];
}

/** Creates an RL job from a body as clients of other languages send it, with nulls for what is absent. */
export async function createRl(client: TrainingClient, request: object) {
  return await client.createRlTrainingJob(request as Parameters<TrainingClient["createRlTrainingJob"]>[0]);
}
