import { fileURLToPath } from "node:url";
import { clientFiles } from "../src/client.js";
import { type Model, readModel } from "../src/model.js";
import { stubFiles } from "../src/server-stub.js";
import { specTypes } from "../src/types.js";
import type { Files } from "../src/write.js";

/** Where the small document stands, and what each generator makes of it. */
export const goldenDirectory = fileURLToPath(new URL("golden/", import.meta.url));

/** Every generator by the name of its folder. */
export const generators: Record<string, (model: Model) => Files | Promise<Files>> = {
  types: specTypes,
  client: clientFiles,
  "server-stub": stubFiles,
};

export function goldenModel(): Model {
  return readModel(`${goldenDirectory}document/library.json`);
}
