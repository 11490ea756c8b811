import { contains } from "./contains.js";
import { exactMatch } from "./exact-match.js";
import { groupRanking } from "./group-ranking.js";
import { jsonSchemaMatch } from "./json-schema-match.js";
import { jsonValidity } from "./json-validity.js";
import { llmJudge } from "./llm-judge.js";
import { numericTolerance } from "./numeric-tolerance.js";
import { regularExpression } from "./regular-expression.js";
import type { ScorerClass } from "./scorer-class.js";
import { stringDistance } from "./string-distance.js";
import { withTimeLimit } from "./time-limit.js";
import { tokenSimilarity } from "./token-similarity.js";
import { toolCallMatch } from "./tool-call-match.js";

/** Every class of scorers that the service runs by itself, in the order of the documentation, within the time limit. */
export const scorerClasses: readonly ScorerClass[] = [
  llmJudge,
  groupRanking,
  exactMatch,
  contains,
  regularExpression,
  jsonValidity,
  jsonSchemaMatch,
  numericTolerance,
  stringDistance,
  tokenSimilarity,
  toolCallMatch,
].map(withTimeLimit);

export function scorerClassOf(name: string | null | undefined): ScorerClass | undefined {
  return scorerClasses.find((scorerClass) => scorerClass.name === name);
}
