import { HeddleError } from "@heddle/errors";
import { schemaFault } from "../llm-models/json-schema.js";
import { withPrefix } from "../error-prefix.js";
import { checkJudgeModel, judgeModel } from "./judge-model.js";
import { scorerClass } from "./scorer-class.js";

/** `open-judge.ts` makes scorers of it. */
export const llmJudge = scorerClass({
  name: "LLMAsAJudgeScorer",
  description: "Asks a model to judge, with a prompt that is filled from the row, the inputs and the output.",
  reads: ["output", "inputs", "every column"],
  parameters: {
    model: judgeModel,
    scoring_prompt: {
      type: "string",
      minLength: 1,
      description:
        "The question to the judge, with variables as `{output}`, `{inputs}` or `{expected}`; or a ref of a prompt object.",
    },
    scoring_prompt_ref: {
      type: "string",
      minLength: 1,
      description: "Ref of a prompt object, which is used instead of `scoring_prompt`.",
    },
    response_schema: {
      type: "object",
      description:
        "A JSON schema of draft 2020-12 for the judgement. The model is asked for it, and a judgement that does not fit is an error.",
    },
  },
  result: {
    "the judgement":
      "with `response_schema`, or when the model object asks for JSON, the JSON value as the model wrote it; otherwise its text",
  },
  isSdkClass: true,
  check({ model, scoring_prompt, scoring_prompt_ref, response_schema }) {
    if (scoring_prompt === undefined && scoring_prompt_ref === undefined) {
      throw new HeddleError("invalid", "scoring_prompt or scoring_prompt_ref is required");
    }
    checkJudgeModel(model);
    if (response_schema !== undefined) {
      withPrefix("response_schema", () => schemaFault(JSON.stringify(response_schema), "null"));
    }
  },
});
