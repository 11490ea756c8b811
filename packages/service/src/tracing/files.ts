import type { BlobReader } from "@heddle/blob-store";
import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { fileDigest } from "@heddle/trace-model";
import type { StoredFile } from "@heddle/trace-store";
import type { Caller, Services } from "../services.js";

export function fileHandlers({ store, blobs }: Services): TracingHandlers<Caller>["files"] {
  /** A file of the index whose bytes are not there is lost, which is not the same as unknown. */
  async function storedBlob({ blob_key: key, digest }: StoredFile): Promise<BlobReader> {
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

  return {
    async fileCreate({ body }) {
      const { bytes, filename, mediaType } = body.file;
      const digest = fileDigest(bytes);
      if (body.expected_digest !== undefined && body.expected_digest !== digest) {
        throw new HeddleError("conflict", `expected_digest differs from the digest of the file, ${digest}`, {
          details: { digest },
        });
      }
      const { key, size } = await blobs.put(bytes);
      await store.files.add({
        project_id: body.project_id,
        digest,
        name: filename ?? "blob",
        size_bytes: size,
        mime: mediaType,
        blob_key: key,
      });
      return { digest };
    },

    async fileContent({ body }) {
      const file = await store.files.get(body);
      if (file === undefined) throw new HeddleError("not_found", `no file ${body.digest} in ${body.project_id}`);
      return (await storedBlob(file)).stream;
    },

    async filesStats({ body }) {
      return { total_size_bytes: await store.files.totalSize(body.project_id) };
    },
  };
}
