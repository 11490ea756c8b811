import { HeddleError } from "@heddle/errors";
import { withPrefix } from "../error-prefix.js";
import { referencedObject } from "../referenced-object.js";
import type { Services } from "../services.js";
import type { CompletionModel } from "./completion-model.js";
import { modelClass, modelOf } from "./model-value.js";

/**
 * Loads a model object of the project that this service can run. Throws `invalid` for a ref of another project, for an
 * object of another class and for a model that no provider serves, and `not_found` for a version that does not exist; the
 * message says what works.
 */
export async function loadModel(
  services: Pick<Services, "store" | "providers">,
  projectId: string,
  ref: string,
): Promise<CompletionModel> {
  const { kind, leaf_object_class: className, object_id, val } = await referencedObject(services, projectId, ref);
  if (kind === "op" || className !== modelClass) {
    const what = kind === "op" ? "an op" : className === null ? "an object without a class" : `of class ${className}`;
    throw new HeddleError(
      "invalid",
      `${object_id} is ${what}, which only an SDK can run. The service runs models of class ${modelClass}`,
    );
  }
  return withPrefix(object_id, async () => modelOf(services, projectId, val, object_id));
}
