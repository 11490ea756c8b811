import type { BlobReader, BlobStore } from "@heddle/blob-store";
import { HeddleError } from "@heddle/errors";
import type { StoredFile } from "@heddle/trace-store";

/** The bytes of a file. One of the index whose bytes are not there is lost (`corrupt`), which is not the same as unknown. */
export async function storedBlob(blobs: BlobStore, { blob_key: key, digest }: StoredFile): Promise<BlobReader> {
  try {
    return await blobs.get(key, { verify: true });
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
    throw new HeddleError(
      "corrupt",
      `the bytes of the file ${digest} are lost: send the file again, or have an operator restore the file store`,
      { cause: new Error(`${key} is missing`, { cause: error }) },
    );
  }
}
