import { HeddleError } from "@heddle/errors";
import type { Services } from "../services.js";
import type { LlmModel } from "./llm-model.js";

/**
 * Loads a model object of the project that this service can run. Throws `invalid` for a ref of another project and for an
 * object of another class, and `not_found` for a version that does not exist; the message says what works.
 */
export async function loadModel(services: Services, projectId: string, ref: string): Promise<LlmModel> {
  throw new HeddleError("unsupported", `${ref} of ${projectId} cannot be loaded by ${services.version}`);
}
