import { blobKeyOf } from "@heddle/blob-store";
import type { BlobReader, BlobReadOptions } from "@heddle/blob-store";
import type { ArtifactContent } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { ArtifactStores } from "./artifact-stores.js";

/** Opens content of a version. Content that is not in the blob store is `corrupt`: a version never loses its files. */
export async function readContent(
  { blobs }: Pick<ArtifactStores, "blobs">,
  { sha256 }: ArtifactContent,
  options?: BlobReadOptions,
): Promise<BlobReader> {
  const key = blobKeyOf(sha256);
  try {
    return await blobs.get(key, options);
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
    throw new HeddleError(
      "corrupt",
      `the content ${sha256} is lost: send the file again, or have an operator restore the file store`,
      { cause: new Error(`${key} is missing`, { cause: error }) },
    );
  }
}
