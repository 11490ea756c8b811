import { fileURLToPath } from "node:url";
import { clientFiles } from "../src/client/generate-client.js";
import { planFiles } from "../src/conformance/generate-plan.js";
import type { Model } from "../src/model/model.js";
import { readModel } from "../src/model/read-model.js";
import { stubFiles } from "../src/server-stub/generate-server-stub.js";
import { specTypes } from "../src/types/generate-types.js";
import type { Files } from "../src/generated-files.js";

/** The folder of the small document and of the output of each generator. */
export const goldenDirectory = fileURLToPath(new URL("golden/", import.meta.url));

/** Every generator by the name of its folder. */
export const generators: Record<string, (model: Model) => Files | Promise<Files>> = {
  types: specTypes,
  client: clientFiles,
  "server-stub": stubFiles,
  conformance: planFiles,
};

export function goldenModel(): Model {
  return readModel(`${goldenDirectory}document/library.json`);
}
