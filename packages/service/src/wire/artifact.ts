import type { ArtifactCollection, ArtifactVersion } from "@heddle/control-plane";
import { rawJson } from "@heddle/server-stub";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import { formatTime } from "@heddle/trace-model";
import { artifactUri } from "../artifacts/artifact-uri.js";

/** A stored collection as the API shows it. */
export function wireArtifact({ created_at, ...collection }: ArtifactCollection): ResponseSchemas["Artifact"] {
  return { ...collection, created_at: formatTime(created_at) };
}

/** A stored version as the API shows it. */
export function wireArtifactVersion(stored: ArtifactVersion): ResponseSchemas["ArtifactVersion"] {
  const { collection: name, index, metadata, created_at, ...version } = stored;
  const selector = `v${index}`;
  return {
    ...version,
    uri: artifactUri({ project_id: version.project_id, name, selector }),
    name,
    version: selector,
    metadata: rawJson(metadata),
    created_at: formatTime(created_at),
  };
}
