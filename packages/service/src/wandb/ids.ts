import { GraphqlError } from "./graphql/error.js";

/** Ids are base64 text, because clients decode them. */
export function encodeId(kind: string, ...parts: string[]): string {
  return Buffer.from([kind, ...parts].join(":")).toString("base64");
}

/** The UUID in an id of the kind. Throws {@link GraphqlError} for other text. */
export function decodeId(kind: string, id: unknown): string {
  const text = typeof id === "string" ? Buffer.from(id, "base64").toString() : "";
  const uuid = text.startsWith(`${kind}:`) ? text.slice(kind.length + 1) : "";
  if (!/^[0-9a-f-]{36}$/.test(uuid)) throw new GraphqlError(`not the id of an ${kind.toLowerCase()}`);
  return uuid;
}
