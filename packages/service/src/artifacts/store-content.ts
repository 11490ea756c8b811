import { createHash } from "node:crypto";
import type { ArtifactContent } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ArtifactStores } from "./artifact-stores.js";

export interface ExpectedContent {
  sha256?: string;
  md5?: string;
  size_bytes?: number;
}

/**
 * Stores content for artifacts of a project and resolves when it is durable. Throws `conflict` for content that is not
 * the expected one; nothing of it is kept.
 */
export async function storeContent(
  { control, blobs }: ArtifactStores,
  projectId: string,
  source: AsyncIterable<Uint8Array>,
  expected: ExpectedContent = {},
): Promise<ArtifactContent> {
  const hash = createHash("md5");
  let received = 0;
  let md5 = "";
  async function* checked(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      received += chunk.length;
      if (expected.size_bytes !== undefined && received > expected.size_bytes) break;
      hash.update(chunk);
      yield chunk;
    }
    md5 = hash.digest("hex");
    if (expected.size_bytes !== undefined && received !== expected.size_bytes) {
      throw new HeddleError("conflict", `the content does not have the size ${expected.size_bytes}`);
    }
    if (expected.md5 !== undefined && md5 !== expected.md5) {
      throw new HeddleError("conflict", `the content has the MD5 ${md5}, not ${expected.md5}`);
    }
  }
  const { sha256, size } = await blobs.put(checked(), { expectedSha256: expected.sha256 });
  const content = { sha256, md5, size_bytes: size };
  await control.artifacts.addUpload(projectId, content);
  return content;
}
