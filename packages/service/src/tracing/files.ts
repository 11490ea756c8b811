import { mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { fileDigest } from "@heddle/trace-model";
import { storedBlob } from "../files/stored-blob.js";
import { isFileShared } from "../shares/shared-trace.js";
import type { Caller, Services } from "../services.js";

/** Bytes that take a millisecond to hash. */
const manyBytes = 1024 * 1024;

export function fileHandlers({ store, blobs }: Services): TracingHandlers<Caller>["files"] {
  return {
    async fileCreate({ body }) {
      const { bytes, filename, mediaType } = body.file;
      const digest = fileDigest(bytes);
      // The blob store hashes them once more.
      if (bytes.length > manyBytes) await mainThread.giveWay();
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

    async fileContent({ body, signal }, caller) {
      const file = await store.files.get(body);
      if (file === undefined || !(await isFileShared(store, caller, body, signal)))
        throw new HeddleError("not_found", `no file ${body.digest} in ${body.project_id}`);
      return (await storedBlob(blobs, file)).stream;
    },

    async filesStats({ body }) {
      return { total_size_bytes: await store.files.totalSize(body.project_id) };
    },
  };
}
