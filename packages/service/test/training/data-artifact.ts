import { storeContent } from "../../src/artifacts/store-content.js";
import type { TestService } from "../test-service.js";

export interface ArtifactOptions {
  name?: string;
  metadata?: object;
}

/** Makes an artifact of files and returns its URI. */
export async function dataArtifact(
  { services }: TestService,
  projectId: string,
  files: Record<string, string>,
  { name = "examples", metadata = {} }: ArtifactOptions = {},
): Promise<string> {
  const stored = [];
  for (const [path, text] of Object.entries(files)) {
    async function* source() {
      yield Buffer.from(text);
    }
    const { sha256 } = await storeContent(services, projectId, source());
    stored.push({ path, sha256 });
  }
  const { version } = await services.control.artifacts.commit({
    project_id: projectId,
    name,
    type: "dataset",
    metadata: JSON.stringify(metadata),
    files: stored,
    created_by: "ann",
  });
  return `heddle-artifact:///${projectId}/${name}:v${version.index}`;
}
