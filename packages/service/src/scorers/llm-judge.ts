import { HeddleError } from "@heddle/errors";
import { rawJson } from "@heddle/server-stub";
import type { JsonText } from "@heddle/trace-model";
import { withPrefix } from "../error-prefix.js";
import { schemaFault } from "../json-schema.js";
import { filledMessages } from "../llm-models/completion-model.js";
import type { CompletionModel } from "../llm-models/completion-model.js";
import { loadModel } from "../llm-models/load-model.js";
import { loadPrompt } from "../llm-models/load-prompt.js";
import type { Members } from "../llm-models/members.js";
import { checkModelValue, modelClass, modelOf } from "../llm-models/model-value.js";
import { referencedObject } from "../referenced-object.js";
import type { ScorerClass, ScorerContext } from "./scorer-class.js";

interface JudgeParameters {
  model: string | Members;
  scoring_prompt?: string;
  scoring_prompt_ref?: string;
  response_schema?: Members;
}

const checkMs = 250;
const refPrefix = "weave:///";

export const llmJudge: ScorerClass = {
  name: "LLMAsAJudgeScorer",
  description: "Asks a model to judge, with a prompt that is filled from the row, the inputs and the output.",
  reads: ["output", "inputs", "every column"],
  parameters: {
    model: {
      type: ["string", "object"],
      description: `Ref of a model object of class \`${modelClass}\`, or the value of one.`,
    },
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
  required: ["model"],
  result: {
    "the judgement":
      "with `response_schema`, or when the model object asks for JSON, the JSON value as the model wrote it; otherwise its text",
  },
  isSdkClass: true,
  check(parameters) {
    const { model, scoring_prompt, scoring_prompt_ref, response_schema } = parameters as unknown as JudgeParameters;
    if (scoring_prompt === undefined && scoring_prompt_ref === undefined) {
      throw new HeddleError("invalid", "scoring_prompt or scoring_prompt_ref is required");
    }
    if (typeof model !== "string") withPrefix("model", () => checkModelValue(JSON.stringify(model)));
    if (response_schema !== undefined) faultOf(response_schema, "null");
  },
  async open(parameters, context) {
    const { response_schema: schema, ...rest } = parameters as unknown as JudgeParameters;
    const [model, prompt] = await Promise.all([modelFor(rest.model, context), promptFor(rest, context)]);
    const settings = schema === undefined ? {} : { response_format: formatOf(schema) };
    return async (variables, signal) => {
      const { messages } = filledMessages(prompt, variables);
      const { output } = await model.complete(messages, signal, settings);
      if (schema !== undefined) checkJudgement(schema, output);
      return rawJson(output);
    };
  },
};

async function modelFor(model: string | Members, { services, projectId }: ScorerContext): Promise<CompletionModel> {
  return withPrefix("model", async () =>
    typeof model === "string"
      ? loadModel(services, await referencedObject(services, projectId, model))
      : modelOf(services, projectId, JSON.stringify(model), modelClass),
  );
}

async function promptFor(
  { scoring_prompt = "", scoring_prompt_ref }: JudgeParameters,
  { services, projectId }: ScorerContext,
): Promise<readonly Members[]> {
  const ref = scoring_prompt_ref ?? (scoring_prompt.startsWith(refPrefix) ? scoring_prompt : undefined);
  if (ref === undefined) return [{ role: "user", content: scoring_prompt }];
  const member = scoring_prompt_ref === undefined ? "scoring_prompt" : "scoring_prompt_ref";
  return withPrefix(member, async () => loadPrompt(services, projectId, ref));
}

/** As the OpenAI API asks for structured output. */
function formatOf(schema: Members): Members {
  return { type: "json_schema", json_schema: { name: "judgement", schema } };
}

function checkJudgement(schema: Members, output: JsonText): void {
  const fault = faultOf(schema, output);
  if (fault !== undefined) throw new HeddleError("failed", `the judgement does not fit response_schema: ${fault}`);
}

function faultOf(schema: Members, value: JsonText): string | undefined {
  return withPrefix("response_schema", () => schemaFault(JSON.stringify(schema), value, checkMs));
}
