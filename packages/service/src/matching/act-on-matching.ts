import { createHash } from "node:crypto";
import { keyLocks } from "@heddle/concurrency";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { canonicalJson } from "@heddle/exact-json";
import { writeJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { derivedId } from "@heddle/trace-model";
import type { TraceStore } from "@heddle/trace-store";
import { withQueueMembership } from "../wire/queue-membership.js";

type Skipped = Schemas["SkippedCalls"];

/** What a request asks for, and how it can be told from others. */
export interface MatchingRequest {
  project_id: string;
  operation: string;
  /** The whole request: another one may not have its retry id. */
  body: Schemas["MatchingCalls"];
  parameters?: Readonly<Record<string, string>>;
  retryId: string | undefined;
  signal: AbortSignal;
}

/** What a request does is decided before it does anything. */
interface Plan<Basis> {
  matched: number;
  call_ids: string[];
  basis: Basis;
}

export interface Action<Basis, More extends object> {
  /** What the action needs besides the calls; kept with them, so that a repeated request does the same. */
  basis: () => Promise<Basis>;
  /** Does it, with an outcome that JSON can hold. Carried out again after a crash: it must then change nothing more. */
  act: (callIds: readonly string[], basis: Basis) => Promise<Outcome<More>>;
}

export type Outcome<More extends object = object> = {
  done: number;
  skipped: Partial<Record<Skipped["reason"], number>>;
} & More;

const mostCalls = 10_000;
const newestFirst: NonNullable<Schemas["MatchingCalls"]["sort_by"]> = [{ field: "started_at", direction: "desc" }];

/** Acts on the calls that a selection has, if they are as many as the caller expects. */
export class MatchingActions {
  readonly #services: { control: ControlPlane; store: TraceStore };
  readonly #oneByOne = keyLocks();

  constructor(services: { control: ControlPlane; store: TraceStore }) {
    this.#services = services;
  }

  /** Throws `conflict` with the actual count, and `too_large` for more calls than one request acts on. */
  async carryOut<Basis, More extends object>(
    request: MatchingRequest,
    action: Action<Basis, More>,
  ): Promise<Schemas["MatchingRes"] & More> {
    const { project_id, operation, retryId } = request;
    if (retryId === undefined) return await this.#act(project_id, await this.#plan(request, action), action);
    const id = derivedId(project_id, retryId, 0, operation);
    const known = { project_id, id, checksum: checksumOf(request) };
    return await this.#oneByOne(`${project_id} ${id}`, async () => {
      const { repeatableRequests } = this.#services.control;
      const before = await repeatableRequests.find(known);
      if (before?.result !== undefined) return JSON.parse(before.result) as Schemas["MatchingRes"] & More;
      const plan = before === undefined ? await this.#plan(request, action) : (JSON.parse(before.plan) as Plan<Basis>);
      if (before === undefined) await repeatableRequests.begin({ ...known, plan: JSON.stringify(plan) });
      const result = await this.#act(project_id, plan, action);
      await repeatableRequests.finish({ ...known, result: JSON.stringify(result) });
      return result;
    });
  }

  async #plan<Basis>(request: MatchingRequest, { basis }: Pick<Action<Basis, object>, "basis">): Promise<Plan<Basis>> {
    const { project_id, signal, body } = request;
    const { control, store } = this.#services;
    const { filter, query, search, sort_by = [], limit, expected_count: expected } = body;
    const known = await basis();
    const selection = await withQueueMembership(control, { project_id, filter, query, search });
    const order = sort_by.length === 0 ? newestFirst : sort_by;
    const ids: string[] = [];
    const page = { ...selection, sort_by: order, limit: limit ?? mostCalls + 1, columns: ["op_name"] };
    for await (const call of store.calls.query(page, { signal })) ids.push(call.id);
    if (limit === undefined && ids.length > mostCalls) {
      const message = `more than ${mostCalls} calls match: give a limit, or a narrower selection`;
      throw new HeddleError("too_large", message, { loc: ["limit"] });
    }
    const matched = ids.length === limit ? (await store.calls.count(selection, { signal })).count : ids.length;
    if (matched !== expected) {
      throw new HeddleError("conflict", `${matched} calls match, not ${expected}`, {
        loc: ["expected_count"],
        details: { actual_count: matched },
      });
    }
    return { matched, call_ids: ids, basis: known };
  }

  async #act<Basis, More extends object>(
    projectId: string,
    { matched, call_ids: ids, basis }: Plan<Basis>,
    { act }: Action<Basis, More>,
  ): Promise<Schemas["MatchingRes"] & More> {
    const { skipped, ...outcome } = await act(ids, basis);
    const counts = Object.entries(skipped).map(([reason, count]) => ({ reason: reason as Skipped["reason"], count }));
    const seq = String(await this.#services.store.lastChange(projectId));
    return { matched, skipped: counts.filter(({ count }) => count > 0), seq, ...outcome } as Schemas["MatchingRes"] &
      More;
  }
}

function checksumOf({ operation, body, parameters = {} }: MatchingRequest): string {
  const text = canonicalJson(writeJson({ operation, body, parameters }));
  return createHash("sha256").update(text).digest("hex");
}
