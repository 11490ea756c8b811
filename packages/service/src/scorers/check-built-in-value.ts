import { mapErrors } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { modelClass, modelSettings } from "../llm-models/model-settings.js";
import { scorerClassOf } from "./scorer-classes.js";
import { scorerSettings } from "./scorer-value.js";

/** Whether values of the class are checked. */
export function isBuiltInClass(className: string | undefined): className is string {
  return className === modelClass || scorerClassOf(className) !== undefined;
}

/** Throws `invalid` for a value that this service could not run as a model or scorer of the class. */
export function checkBuiltInValue(className: string | undefined, val: JsonText): void {
  const scorerClass = scorerClassOf(className);
  mapErrors(
    (error) => error.with({ code: "invalid", loc: ["val"], details: undefined }),
    () => {
      if (scorerClass !== undefined) scorerSettings(scorerClass, val);
      else if (className === modelClass) modelSettings(val);
    },
  );
}
