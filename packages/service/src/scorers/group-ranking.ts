import { withPrefix } from "../error-prefix.js";
import { groupReader } from "./group-path.js";
import { checkJudgeModel, judgeModel } from "./judge-model.js";
import { scorerClass } from "./scorer-class.js";

const defaultRubric =
  "An answer that reaches the goal of the task scores clearly higher than one that does not. Of answers that reach it, the one with fewer steps or words scores slightly higher; of those that do not, the one that comes closer. Small differences in quality are small differences in the score.";

/** `open-ranking.ts` makes rankings of it. */
export const groupRanking = scorerClass({
  name: "GroupRankingScorer",
  description:
    "Asks a model to rank the answers of a group relative to each other: one request for the whole group, in which what the calls have in common is shown once. It is applied by `/calls/score` and by the setting `ranking` of training jobs alone.",
  reads: ["the messages and outputs of a group of calls"],
  parameters: {
    model: judgeModel,
    rubric: {
      type: "string",
      minLength: 1,
      maxLength: 20_000,
      default: defaultRubric,
      description: "What makes one answer better than another.",
    },
    group_by: {
      type: "string",
      minLength: 1,
      maxLength: 1024,
      default: "inputs.messages",
      description:
        "Dotted path in the calls, as of training jobs from calls: those with equal values there are a group, at most 32.",
    },
  },
  result: {
    score: "0 to 1, relative to the other answers of the group",
    explanation: "why, in the words of the model",
    group_size: "how many answers were compared",
  },
  ranksGroups: true,
  check({ model, group_by }) {
    checkJudgeModel(model);
    withPrefix("group_by", () => groupReader(group_by));
  },
});
