import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { clientFiles } from "../src/client/generate-client.js";
import { planFiles } from "../src/conformance/generate-plan.js";
import { referenceSection } from "../src/docs/reference/reference.js";
import type { Model } from "../src/model/model.js";
import { readModel } from "../src/model/read-model.js";
import { stubFiles } from "../src/server-stub/generate-server-stub.js";
import { operationSamples } from "../src/samples/operation-samples.js";
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
  samples: sampleFiles,
  docs: docsFiles,
};

/** The pages of the reference, with the form of each operation. */
function docsFiles(model: Model): Files {
  const { pages } = referenceSection(model, new Map());
  return Object.fromEntries(
    pages.flatMap(({ path, markdown, insert }) => [
      [`${basename(path)}.md`, `${markdown}\n`],
      ...(insert === undefined ? [] : [[`${basename(path)}.form.html`, `${insert.html}\n`]]),
    ]),
  ) as Files;
}

/** The samples of every operation, as the documentation shows them. */
function sampleFiles(model: Model): Files {
  const sections = model.operations.map((operation) => {
    const samples = operationSamples(model, operation);
    const blocks = samples.map(({ language, title, code }) => `${title}:\n\n\`\`\`${language}\n${code}\`\`\`\n`);
    return [`## ${operation.id}\n`, ...blocks].join("\n");
  });
  return { [`${model.name}.md`]: sections.join("\n") };
}

export function goldenModel(): Model {
  return readModel(`${goldenDirectory}document/library.json`);
}
