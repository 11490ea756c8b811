import { timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { steadyNow } from "@heddle/control-plane";
import type { UrlSignatures } from "@heddle/control-plane";
import { digestFile } from "@heddle/durable-files";
import { HeddleError } from "@heddle/errors";
import { weightFiles } from "@heddle/training";

/** Below it, adapters are what models are on a hub of Hugging Face, from which inference servers fetch adapters. */
export const adaptersPath = "/v1/adapters";

/** The SHA-256 of each file of an adapter, by its name. */
export type AdapterFiles = ReadonlyMap<string, string>;

/** An address is valid for so long, and for at most twice that: loading takes minutes. */
const validMs = 600_000;
/** No key has this id: an address ends by its time alone. */
const signer = "adapter";

/**
 * Returns the name by which an inference server fetches the adapter in a directory: a repository of a hub that consists of the
 * digests of its files, the end of its time, and a signature of both. Nobody can make one, and it gives these files alone.
 */
export async function adapterRepository(
  signatures: UrlSignatures,
  directory: string,
  now = steadyNow(),
): Promise<string> {
  const digests: string[] = [];
  for (const file of weightFiles.adapter) digests.push((await digestFile(join(directory, file))).sha256);
  // The same for a while: servers keep what they have fetched under its name.
  const expires = (Math.floor(now / validMs) + 2) * validMs;
  return signed(signatures, digests.join(""), expires);
}

/** Returns the files that a repository grants. Throws `forbidden` for one that was not signed here, or has expired. */
export function readAdapterRepository(signatures: UrlSignatures, repository: string, now = steadyNow()): AdapterFiles {
  const [, digests = "", end = ""] = /^([0-9a-f]{96}\/[0-9a-f]{32})\.([0-9a-z]{1,10})\./u.exec(repository) ?? [];
  const hex = digests.replace("/", "");
  const expires = Number.parseInt(end, 36);
  const [expected, given] = [signed(signatures, hex, expires), repository].map((text) => Buffer.from(text));
  if (expected === undefined || expected.length !== given?.length || !timingSafeEqual(expected, given))
    throw new HeddleError("forbidden", "the address is not one of this service");
  if (expires < now) throw new HeddleError("forbidden", "the address of the adapter has expired");
  return new Map(weightFiles.adapter.map((file, at) => [file, hex.slice(64 * at, 64 * (at + 1))]));
}

/** Clients of hubs take 96 letters, digits, `.`, `_` and `-` for the owner, and as many for the name. */
function signed(signatures: UrlSignatures, digests: string, expires: number): string {
  const text = `${digests.slice(0, 96)}/${digests.slice(96)}.${expires.toString(36)}`;
  return `${text}.${Buffer.from(signatures.sign(signer, text), "base64url").toString("hex").slice(0, 48)}`;
}
