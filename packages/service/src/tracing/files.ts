import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { fileDigest } from "@heddle/trace-model";
import type { Caller, Services } from "../services.js";

export function fileHandlers({ store, blobs }: Services): TracingHandlers<Caller>["files"] {
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
      return (await blobs.get(file.blob_key, { verify: true })).stream;
    },

    async filesStats({ body }) {
      return { total_size_bytes: await store.files.totalSize(body.project_id) };
    },
  };
}
