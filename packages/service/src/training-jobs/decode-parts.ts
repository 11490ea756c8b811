import { Problem } from "@heddle/server-stub";

/** Decodes parts of a body one by one. Throws the Problem of a body that is not UTF-8 before the position `end`. */
export function* decodeParts(parts: readonly Uint8Array[], end: number): Generator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (const part of parts) yield decoder.decode(part, { stream: true });
    yield decoder.decode();
  } catch {
    throw new Problem(400, `the body is not valid UTF-8 before position ${end}`);
  }
}
