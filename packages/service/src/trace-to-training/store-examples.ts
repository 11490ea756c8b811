import type { Caller, TrainingModel } from "@heddle/control-plane";
import type { HeddleError } from "@heddle/errors";
import { mapErrors } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { artifactUri } from "../artifacts/artifact-uri.js";
import { storeContent } from "../artifacts/store-content.js";
import type { FromCallsServices } from "./from-calls-services.js";

interface Examples {
  caller: Caller;
  model: TrainingModel;
  /** Of the artifact. */
  name: string;
  /** Of the file that gets the rows. */
  path: string;
  description: string;
  rows: readonly JsonText[];
}

/** Makes an artifact version of rows that were made of calls, unless the newest one has the same, and returns its URI. */
export async function storeExamples(
  services: FromCallsServices,
  { caller, model, name, path, description, rows }: Examples,
): Promise<string> {
  const { project_id } = model;
  const { sha256 } = await storeContent(services, project_id, linesOf(rows));
  const { version } = await mapErrors(atArtifactName, () =>
    services.control.artifacts.commit({
      project_id,
      name,
      type: "dataset",
      created_by: caller.user_id,
      deduplicate: true,
      description,
      metadata: JSON.stringify({ format: "jsonl", num_trajectories: rows.length }),
      files: [{ path, sha256 }],
    }),
  );
  return artifactUri({ project_id, name, selector: `v${version.index}` });
}

async function* linesOf(rows: readonly JsonText[]): AsyncGenerator<Uint8Array> {
  // Between the tokens of JSON, line breaks are spaces; there are none inside them.
  for (const row of rows) yield Buffer.from(`${row.replaceAll(/[\r\n]/g, " ")}\n`);
}

/** The name of the artifact is the only part of a version that the request gives. */
function atArtifactName(error: HeddleError): HeddleError {
  return error.loc === undefined ? error : error.with({ loc: ["artifact_name"] });
}
