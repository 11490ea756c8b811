import type { JsonText } from "@heddle/exact-json";
import type { ApiSchemas } from "../api-schemas.js";

/** One piece of feedback to store. Its type, payload and refs go together: see the callers' rules of types. */
export interface NewFeedback extends Omit<ApiSchemas["FeedbackCreateReq"], "payload" | "wb_user_id"> {
  /** An object. */
  payload: JsonText;
  /** Of the caller. */
  wb_user_id: string;
}

export interface CreatedFeedback {
  id: string;
  /** Microseconds since 1970: when it was first stored. */
  created_at: bigint;
  /** Who stored it first. */
  wb_user_id: string;
  /** As it is stored: what is not JSON, as bare NaN, has become null. */
  payload: JsonText;
}

export interface FeedbackReplace extends NewFeedback {
  /** Of the feedback to remove. */
  feedback_id: string;
}

export type FeedbackQuery = ApiSchemas["FeedbackQueryReq"];
export type FeedbackPurge = ApiSchemas["FeedbackPurgeReq"];

export interface FeedbackPage {
  /** Objects with the columns that were asked for. */
  result: JsonText[];
  total_count: number;
}

/** A range of time and further conditions on feedback. */
export interface FeedbackRange {
  project_id: string;
  /** Inclusive. Microseconds since 1970. */
  start: bigint;
  /** Exclusive; default now. */
  end?: bigint;
}

export interface FeedbackStatsRequest
  extends FeedbackRange, Omit<ApiSchemas["FeedbackStatsReq"], "start" | "end" | "project_id"> {}

export interface FeedbackPayloadSchemaRequest
  extends FeedbackRange, Omit<ApiSchemas["FeedbackPayloadSchemaReq"], "start" | "end" | "project_id"> {}

export interface FeedbackAggregateRequest
  extends FeedbackRange, Omit<ApiSchemas["FeedbackAggregateReq"], "after_ms" | "before_ms" | "project_id"> {}
