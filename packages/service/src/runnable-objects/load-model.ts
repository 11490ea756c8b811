import { HeddleError } from "@heddle/errors";
import type { StoredObject } from "@heddle/trace-store";
import { Computing } from "../computing/computing.js";
import { withPrefix } from "../error-prefix.js";
import type { ModelBackends } from "./model-backends.js";
import type { CompletionModel } from "./completion-model.js";
import { modelClass } from "../llm-models/model-settings.js";
import { modelOf } from "./model-value.js";

/**
 * Makes a model of an object. Throws `invalid` for an object of a class that the service does not run and for a model that
 * no provider serves; the message says what works.
 */
export async function loadModel(
  services: ModelBackends,
  { project_id: projectId, kind, leaf_object_class: className, object_id, val }: StoredObject,
  computing: Computing = Computing.ofRequest(),
): Promise<CompletionModel> {
  if (kind === "op" || className !== modelClass) {
    const what = kind === "op" ? "an op" : className === null ? "an object without a class" : `of class ${className}`;
    throw new HeddleError(
      "invalid",
      `${object_id} is ${what}, which only an SDK can run. The service runs models of class ${modelClass}`,
    );
  }
  return withPrefix(object_id, async () => modelOf(services, projectId, { val, objectId: object_id, computing }));
}
