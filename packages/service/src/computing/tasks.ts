import type { JsonText } from "@heddle/exact-json";
import { addToSummary } from "../scorers/summarize.js";
import { fillJudgeRequest, fillModelRequest, fillRankingRequest } from "./fill-request.js";
import { modelSettings } from "../llm-models/model-settings.js";
import { promptMessages } from "../llm-models/prompt-messages.js";
import { checkBuiltInValue } from "../scorers/check-built-in-value.js";
import { computeScore } from "../scorers/compute-score.js";
import { readRanking } from "../scorers/rank-group.js";
import { checkedScorer } from "../scorers/scorer-value.js";
import { schemaFault } from "../llm-models/json-schema.js";
import { exportedCalls, scanExport } from "./large-exports.js";

/**
 * What the threads of {@link Computing} do. The time and memory that each of these takes are priced by what users wrote.
 * Free JSON goes there and back as text.
 */
export const tasks = {
  addToSummary,
  checkBuiltInValue: ({ className, val }: { className: string; val: JsonText }) => checkBuiltInValue(className, val),
  checkedScorer,
  computeScore,
  fillJudgeRequest,
  fillModelRequest,
  exportedCalls,
  fillRankingRequest,
  modelSettings,
  promptMessages,
  readRanking,
  scanExport,
  schemaFault: ({ schema, value }: { schema: JsonText; value: JsonText }) => schemaFault(schema, value),
};
