import type { RawJson } from "@heddle/client";
import type { CallRow, CallSchema } from "@heddle/client/tracing";

type Texts = "op_name" | "display_name" | "parent_id" | "thread_id" | "ended_at" | "exception";

/** A call as it was read, its free JSON as exact text. What is null there is absent here. */
export type CallFacts = Pick<CallSchema, "id" | "trace_id" | "started_at"> & { [Name in Texts]?: string } & {
  inputs: RawJson;
  output?: RawJson;
  attributes: RawJson;
  summary?: RawJson;
};

type ReadCall = { [Name in keyof CallFacts]: CallFacts[Name] | null };

/** Of a call that was read with `raw: true`. */
export function factsOf(call: ReadCall): CallFacts {
  const present = Object.entries(call).filter(([, value]) => value !== null);
  return Object.fromEntries(present) as unknown as CallFacts;
}

/** The display name, else that of the op; of a ref the part that names it. */
export function nameOfCall(call: { name?: string; display_name?: string; op_name?: string }): string {
  const { name, display_name, op_name = "" } = call;
  return name ?? display_name ?? /^weave:\/\/\/.*\/op\/([^:]+):/.exec(op_name)?.[1] ?? op_name;
}

/** Of a row of a table, or as far as the call itself says it. */
export function statusOf(call: Pick<CallRow, "status" | "ended_at" | "exception">): NonNullable<CallRow["status"]> {
  if (call.status !== undefined) return call.status;
  if (call.exception !== undefined) return "error";
  return call.ended_at === undefined ? "running" : "success";
}
