import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";

/** Passes the bytes on and throws `corrupt` at the end when they do not have the digest. */
export async function* verified(stream: AsyncIterable<Uint8Array>, sha256: string): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const chunk of stream) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest("hex") !== sha256)
    throw new HeddleError("corrupt", `the stored bytes do not have the digest ${sha256}`);
}
