import { createHash } from "node:crypto";
import type { ArtifactFile } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";

const policy = { version: 1, storagePolicy: "wandb-storage-policy-v1", storagePolicyConfig: { storageLayout: "V2" } };
const pieceLength = 64 * 1024;

/** The manifest of a version in the form in which wandb reads and writes it, in pieces of text. */
export async function* manifestOf(files: AsyncIterable<ArtifactFile>): AsyncGenerator<string> {
  let piece = `${JSON.stringify(policy).slice(0, -1)},"contents":{`;
  let separator = "";
  for await (const { path, md5, size_bytes } of files) {
    piece += `${separator}${JSON.stringify(path)}:${JSON.stringify({ digest: base64Md5(md5), size: size_bytes })}`;
    separator = ",";
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}}}`;
}

/** The digest of a version as wandb computes it: the MD5 of the names and digests of its files, in hex. */
export function wandbDigest(files: readonly ArtifactFile[]): string {
  const hash = createHash("md5").update("wandb-artifact-manifest-v1\n");
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return hash.update(sorted.map(({ path, md5 }) => `${path}:${base64Md5(md5)}\n`).join("")).digest("hex");
}

export interface ManifestFile {
  path: string;
  /** Hex. */
  md5: string;
}

/** Reads a manifest that a client sent. Throws `invalid`, and `unsupported` for references to other stores. */
export function readManifest(manifest: unknown): ManifestFile[] {
  const contents = contentsOf(manifest);
  return Object.entries(contents).map(([path, entry]) => {
    const { digest, ref } = (entry ?? {}) as { digest?: unknown; ref?: unknown };
    if (ref !== undefined && ref !== null) {
      throw new HeddleError("unsupported", `${path} is a reference: only files that are uploaded are kept`);
    }
    const md5 = typeof digest === "string" ? hexMd5(digest) : undefined;
    if (md5 === undefined) throw new HeddleError("invalid", `the manifest has no MD5 of ${path}`);
    return { path, md5 };
  });
}

function contentsOf(manifest: unknown): object {
  const contents: unknown =
    typeof manifest === "object" && manifest !== null && "contents" in manifest ? manifest.contents : undefined;
  if (typeof contents === "object" && contents !== null) return contents;
  throw new HeddleError("invalid", "the manifest has no contents");
}

/** Hex of an MD5 in base64; undefined for other text. */
export function hexMd5(base64: string): string | undefined {
  return /^[A-Za-z0-9+/]{22}==$/.test(base64) ? Buffer.from(base64, "base64").toString("hex") : undefined;
}

const base64Md5 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");
