import { HeddleError } from "@heddle/errors";
import { derivedId, newId, opObjectId } from "@heddle/trace-model";
import type { CallPart, CallStart } from "@heddle/trace-model";
import { PlaceholderOps } from "../ingest/placeholder-ops.js";
import type { ObjectStores } from "../objects/object-stores.js";

/** Whose request it is. */
export interface WriteContext {
  projectId: string;
  userId: string;
  /** The X-Weave-Retry-Id header: ids are then the same on every attempt. */
  retryId: string | undefined;
}

/** What the calls of evaluations have in common. They are written as the calls of any client. */
export class EvaluationWrites {
  readonly services: ObjectStores;
  readonly #ops: PlaceholderOps;

  constructor(services: ObjectStores) {
    this.services = services;
    this.#ops = new PlaceholderOps(services, "This op was recorded by its results; its source is not known.");
  }

  /** The ref of an op of this name, which is published if there is none. */
  async opRef(projectId: string, name: string): Promise<string> {
    return await this.#ops.ref(projectId, opObjectId(name));
  }

  /** Throws `unprocessable` when a part cannot be stored. */
  async ingest(parts: readonly CallPart[]): Promise<void> {
    const [rejected] = await this.services.store.ingest(parts);
    if (rejected !== undefined) throw new HeddleError("unprocessable", rejected.message, { loc: [] });
  }
}

export function idFor({ projectId, retryId }: WriteContext, kind: string): string {
  return retryId === undefined ? newId() : derivedId(projectId, retryId, 0, kind);
}

/** A start whose attributes say what the call is, in the form that client libraries of the interface read. */
export function markedStart(
  { projectId, userId }: Pick<WriteContext, "projectId" | "userId">,
  { marks, ...start }: Omit<CallStart, "project_id" | "attributes" | "wb_user_id"> & { marks: Record<string, unknown> },
): CallStart {
  return { ...start, project_id: projectId, wb_user_id: userId, attributes: JSON.stringify({ weave: marks }) };
}

export const nowUs = (): bigint => BigInt(Date.now()) * 1000n;
