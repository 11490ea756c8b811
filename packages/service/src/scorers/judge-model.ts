import { withPrefix } from "../error-prefix.js";
import { modelClass, modelSettings } from "../llm-models/model-settings.js";

/** The parameter of scorers that ask a model. */
export const judgeModel = {
  isRequired: true,
  type: ["string", "object"],
  description: `Ref of a model object of class \`${modelClass}\`, or the value of one.`,
} as const;

/** Checks the value of the parameter; a ref is checked where it is resolved. */
export function checkJudgeModel(model: string | object): void {
  if (typeof model !== "string") withPrefix("model", () => modelSettings(JSON.stringify(model)));
}
