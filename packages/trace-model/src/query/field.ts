import { HeddleError } from "@heddle/errors";
import { limits } from "@heddle/spec/tracing-limits";
import { firstCharacters, hasAtMost } from "@heddle/exact-json";
import { statedFields } from "../stated-fields.js";
import type { StatedField } from "../stated-fields.js";
import type { TypedField, ValueType } from "./expression.js";
import type { NamedOps } from "./named-ops.js";

export type CallColumn = keyof typeof columns;
export type JsonColumn = "inputs" | "output" | "attributes" | "summary";
export type ComputedField = keyof typeof computed;

/** A field of calls that a query or sort may name. */
export type CallField = TypedField &
  (
    | { kind: "column"; name: CallColumn; nullable: boolean }
    /** A value inside free JSON; an empty path is the whole column. */
    | { kind: "json"; column: JsonColumn; path: string[] }
    /** Computed from other columns, `summary.weave.…` on the wire. */
    | { kind: "weave"; name: ComputedField }
    /** Feedback on the call; `feedback_type` is `*` for any. */
    | {
        kind: "feedback";
        feedback_type: string;
        part: "payload" | "runnable_ref" | "trigger_ref";
        path: string[];
      }
    | { kind: "queue" }
    /** Whether the call is of one of these ops; no client names it. */
    | { kind: "ops"; ops: NamedOps }
    /** The readable part of the op name; no client names it. */
    | { kind: "op_text" }
  );

const required = { nullable: false, type: "text" } as const;
const optional = { nullable: true, type: "text" } as const;

const stated = Object.fromEntries(
  Object.entries(statedFields).map(([name, type]) => [name, { nullable: true, type }]),
) as Record<StatedField, { nullable: true; type: ValueType }>;

/** An absent nullable column is null, whatever the store keeps for it. */
const columns = {
  id: required,
  project_id: required,
  trace_id: required,
  ...stated,
  op_name: { nullable: false, type: "text", refs: true },
  display_name: optional,
  started_at: { nullable: false, type: "time" },
  ended_at: { nullable: true, type: "time" },
  exception: optional,
  wb_run_step_end: { nullable: true, type: "int" },
  deleted_at: { nullable: true, type: "time" },
} as const satisfies Record<string, { nullable: boolean; type: ValueType; refs?: boolean }>;

const computed = {
  status: "text",
  latency_ms: "int",
  trace_name: "text",
  kind: "text",
} as const satisfies Record<string, ValueType>;

const { path_steps: maxSteps, path_characters: maxCharacters } = limits.Query;

/** What is wrong with the length of a path; undefined for one that may lead somewhere. */
export function pathExcess(text: string): string | undefined {
  if (!hasAtMost(text, maxCharacters))
    return `${firstCharacters(text, 40)}…: a path has at most ${maxCharacters} characters`;
  return splitPath(text).length > maxSteps + 1
    ? `${firstCharacters(text, 40)}…: a path has at most ${maxSteps} steps`
    : undefined;
}

/**
 * Reads a field path of calls: a column, a dotted path into free JSON (a dot inside a key is written `\.`),
 * `summary.weave.…`, `feedback.[type].…` or `annotation_queue_items.queue_id`. Throws `unprocessable` for others.
 */
export function parseCallField(text: string): CallField {
  const excess = pathExcess(text);
  if (excess !== undefined) throw notQueryable(excess);
  const [root = "", ...path] = splitPath(text);
  if (path.length === 0 && isColumn(root)) return { kind: "column", name: root, text, ...columns[root] };
  if (root === "summary" && path[0] === "weave" && path.length === 2 && isComputed(path[1])) {
    return { kind: "weave", name: path[1], text, type: computed[path[1]] };
  }
  if (isJsonColumn(root)) return { kind: "json", column: root, path, text, type: "text" };
  if (text === "annotation_queue_items.queue_id") return { kind: "queue", text, type: "text" };
  const feedback = parseFeedbackField(text);
  if (feedback) return feedback;
  throw notQueryable(text);
}

function notQueryable(what: string): HeddleError {
  return new HeddleError("unprocessable", `calls cannot be queried by the field ${what}`, { loc: [] });
}

/** Segments of a dotted path; `\.` is a dot inside a segment. */
export function splitPath(text: string): string[] {
  if (!text.includes("\\.")) return text.split(".");
  return text.split(/(?<!\\)\./).map((segment) => segment.replaceAll("\\.", "."));
}

/** The text that {@link splitPath} splits into these segments. */
export function joinPath(segments: ReadonlyArray<string | number>): string {
  return segments.map((segment) => String(segment).replaceAll(".", "\\.")).join(".");
}

function parseFeedbackField(text: string): CallField | undefined {
  const match = /^feedback\.\[([^\]]+)\]\.(payload|runnable_ref|trigger_ref)(?:\.(.+))?$/s.exec(text);
  const [, feedbackType, part, rest] = match ?? [];
  if (feedbackType === undefined) return undefined;
  if (part === "payload") {
    const path = rest === undefined ? [] : splitPath(rest);
    return { kind: "feedback", feedback_type: feedbackType, part, path, text, type: "text" };
  }
  if (rest !== undefined || (part !== "runnable_ref" && part !== "trigger_ref")) return undefined;
  return { kind: "feedback", feedback_type: feedbackType, part, path: [], text, type: "text", refs: true };
}

function isColumn(name: string): name is CallColumn {
  return Object.hasOwn(columns, name);
}

function isComputed(name: string | undefined): name is ComputedField {
  return name !== undefined && Object.hasOwn(computed, name);
}

function isJsonColumn(name: string): name is JsonColumn {
  return name === "inputs" || name === "output" || name === "attributes" || name === "summary";
}
