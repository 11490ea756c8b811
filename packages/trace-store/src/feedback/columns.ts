import type { RowColumn } from "../query/row-query.js";

const text = { type: "text" } as const;
const optional = { type: "text", optional: true } as const;
const optionalRef = { ...optional, refs: true } as const;
const json = { type: "json" } as const;

/** The columns of feedback by the names they have in the API. */
export const feedbackColumns = {
  id: text,
  project_id: text,
  weave_ref: { type: "text", column: "ref", refs: true },
  wb_user_id: { type: "text", column: "user_id", optional: true },
  creator: optional,
  created_at: { type: "time" },
  feedback_type: { type: "text", column: "type" },
  payload: json,
  annotation_ref: optionalRef,
  runnable_ref: optionalRef,
  call_ref: optionalRef,
  trigger_ref: optionalRef,
  queue_id: optional,
  scorer_tags: json,
  scorer_tag_reasons: json,
  scorer_tag_confidences: json,
  scorer_ratings: json,
  scorer_rating_reasons: json,
  scorer_rating_confidences: json,
  span_agent_name: text,
  span_agent_version: text,
  span_status_code: text,
  span_conversation_id: text,
  span_trace_id: text,
  scorer_trace_id: text,
} as const satisfies Record<string, RowColumn>;

export type FeedbackColumn = keyof typeof feedbackColumns;

/** What a client says, apart from the id; times and versions are the store's. */
export const contentColumns = Object.keys(feedbackColumns).filter(
  (name): name is ContentColumn => !["id", "project_id", "wb_user_id", "created_at"].includes(name),
);

export type ContentColumn = Exclude<FeedbackColumn, "id" | "project_id" | "wb_user_id" | "created_at">;

/** The name of a column in the table. */
export function storedName(name: FeedbackColumn): string {
  const column: RowColumn = feedbackColumns[name];
  return column.column ?? name;
}
