import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/trace-model";
import { checkModelValue, modelClass } from "../llm-models/model-value.js";
import { scorerClassOf } from "./scorer-classes.js";
import { scorerSettings } from "./scorer-value.js";

/** Throws `invalid` for a value that this service could not run as a model or scorer of the class. */
export function checkBuiltInValue(className: string | undefined, val: JsonText): void {
  const scorerClass = scorerClassOf(className);
  try {
    if (scorerClass !== undefined) scorerSettings(scorerClass, val);
    else if (className === modelClass) checkModelValue(val);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw new HeddleError("invalid", error.message, { loc: ["val"] });
  }
}
