import { derivedId, externalRef, externalRefs, newId, statedOf, withOtelSpan } from "@heddle/trace-model";
import type { CallEnd, CallStart, ProjectOf } from "@heddle/trace-model";
import type { RawJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import { wireTime } from "./time.js";

/** What turning a wire item into a call part needs to know. */
export interface PartContext {
  userId: string;
  /** The X-Weave-Retry-Id header: ids made for items without one are then the same on every attempt. */
  retryId: string | undefined;
  /** Position of the item in its request. */
  index: number;
  /** External project of an internal id; undefined for one that the client was not given. */
  projectOf: ProjectOf;
}

type WireStart = Schemas["StartedCallSchemaForInsert"];
type WireEnd = Schemas["EndedCallSchemaForInsert"];
type WireComplete = Schemas["CompletedCallSchemaForInsert"];

export function startOf(wire: WireStart, context: PartContext): CallStart {
  const { project_id } = wire;
  const text = (raw: RawJson) => externalRefs(raw.text, context.projectOf);
  const attributes = text(wire.attributes);
  return {
    project_id,
    id: wire.id ?? madeId(project_id, context, "call"),
    trace_id: wire.trace_id ?? madeId(project_id, context, "trace"),
    op_name: externalRef(wire.op_name, context.projectOf),
    started_at: wireTime(wire.started_at, "started_at"),
    attributes: wire.otel_dump === undefined ? attributes : withOtelSpan(attributes, wire.otel_dump.text),
    inputs: text(wire.inputs),
    display_name: wire.display_name,
    ...statedOf(wire),
    wb_user_id: context.userId,
  };
}

export function endOf(wire: WireEnd, context: PartContext): CallEnd {
  return {
    project_id: wire.project_id,
    id: wire.id,
    ended_at: wireTime(wire.ended_at, "ended_at"),
    started_at: wire.started_at === undefined ? undefined : wireTime(wire.started_at, "started_at"),
    output: wire.output === undefined ? undefined : externalRefs(wire.output.text, context.projectOf),
    summary: wire.summary.text,
    exception: wire.exception,
    wb_run_step_end: wire.wb_run_step_end,
  };
}

export function completeOf(wire: WireComplete, context: PartContext): { start: CallStart; end: CallEnd } {
  return { start: startOf(wire, context), end: endOf(wire, context) };
}

function madeId(projectId: string, { retryId, index }: PartContext, kind: "call" | "trace"): string {
  return retryId === undefined ? newId() : derivedId(projectId, retryId, index, kind);
}
