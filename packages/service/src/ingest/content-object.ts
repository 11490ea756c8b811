import { fileDigest, newId } from "@heddle/trace-model";
import type { ObjectStores } from "../objects/object-stores.js";

export interface Content {
  bytes: Uint8Array;
  media_type: string;
  /** With its extension. */
  filename: string;
  /** What else is known about it. */
  extra: Readonly<Record<string, unknown>>;
}

/** Stores content as files of a project and returns the value by which client libraries load it. */
export async function storeContent(
  { blobs, store }: ObjectStores,
  projectId: string,
  { bytes, media_type, filename, extra }: Content,
): Promise<Readonly<Record<string, unknown>>> {
  const put = async (name: string, mime: string, content: Uint8Array) => {
    const digest = fileDigest(content);
    const { key, size, sha256 } = await blobs.put(content);
    await store.files.add({ project_id: projectId, digest, name, size_bytes: size, mime, blob_key: key });
    return { digest, size, sha256 };
  };
  const { digest, size, sha256 } = await put("content", media_type, bytes);
  const metadata = {
    id: newId(),
    size,
    mimetype: media_type,
    digest: sha256,
    filename,
    content_type: "bytes",
    input_type: "bytes",
    extension: filename.slice(filename.lastIndexOf(".")),
    extra,
  };
  const described = await put("metadata.json", "application/json", Buffer.from(JSON.stringify(metadata)));
  return {
    _type: "CustomWeaveType",
    weave_type: { type: "weave.type_wrappers.Content.content.Content" },
    files: { content: digest, "metadata.json": described.digest },
  };
}
