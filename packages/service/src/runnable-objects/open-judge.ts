import { HeddleError } from "@heddle/errors";
import { jsonType, memberOf, stringValue } from "@heddle/exact-json";
import type { JsonText } from "@heddle/exact-json";
import type { Computing } from "../computing/computing.js";
import { withPrefix } from "../error-prefix.js";
import type { ModelBackends } from "./model-backends.js";
import type { CompletionModel } from "./completion-model.js";
import { loadModel } from "./load-model.js";
import { loadPrompt } from "./load-prompt.js";
import { modelClass } from "../llm-models/model-settings.js";
import { modelOf } from "./model-value.js";
import { referencedObject } from "../objects/referenced-object.js";
import type { Scorer } from "../scorers/scorer.js";

export interface JudgeContext {
  services: ModelBackends;
  projectId: string;
  computing: Computing;
}

const refPrefix = "weave:///";

/** Makes a scorer of class `LLMAsAJudgeScorer`, from the settings that `checkedScorer` returned. */
export async function openJudge(settings: JsonText, context: JudgeContext): Promise<Scorer["score"]> {
  const parameters = memberOf(settings, "parameters") ?? "{}";
  const columnMap = JSON.parse(memberOf(settings, "columnMap") ?? "{}") as Record<string, string>;
  const [model, prompt] = await Promise.all([modelFor(parameters, context), promptFor(parameters, context)]);
  const schema = memberOf(parameters, "response_schema");
  const responseFormat = schema && formatOf(schema);
  return async (scored, signal) => {
    const { output } = await model.judge({ prompt, responseFormat, columnMap, scored }, signal);
    if (schema !== undefined) await checkJudgement(context.computing, { schema, value: output }, signal);
    return output;
  };
}

/** The model that a scorer names by its parameter `model`. */
export async function modelFor(
  parameters: JsonText,
  { services, projectId, computing }: JudgeContext,
): Promise<CompletionModel> {
  const model = memberOf(parameters, "model") ?? "null";
  const ref = stringValue(model);
  return withPrefix("model", async () =>
    ref === undefined
      ? modelOf(services, projectId, { val: model, objectId: modelClass, computing })
      : loadModel(services, await referencedObject(services, projectId, ref), computing),
  );
}

async function promptFor(parameters: JsonText, { services, projectId, computing }: JudgeContext): Promise<JsonText> {
  const [content, given] = ["scoring_prompt", "scoring_prompt_ref"].map((name) => memberOf(parameters, name));
  const text = content && jsonType(content) === "string" ? stringValue(content) : undefined;
  const ref = given === undefined ? (text?.startsWith(refPrefix) === true ? text : undefined) : stringValue(given);
  if (ref === undefined) return `[{"role":"user","content":${content ?? '""'}}]`;
  const member = given === undefined ? "scoring_prompt" : "scoring_prompt_ref";
  return withPrefix(member, async () => loadPrompt(services, projectId, { ref, computing }));
}

/** As the OpenAI API asks for structured output. */
function formatOf(schema: JsonText): JsonText {
  return `{"type":"json_schema","json_schema":{"name":"judgement","schema":${schema}}}`;
}

async function checkJudgement(
  computing: Computing,
  check: { schema: JsonText; value: JsonText },
  signal: AbortSignal,
): Promise<void> {
  const fault = await withPrefix("response_schema", async () => computing.run("schemaFault", check, { signal }));
  if (fault !== undefined) throw new HeddleError("failed", `the judgement does not fit response_schema: ${fault}`);
}
