import { expect, test } from "vitest";
import type { Row } from "../database/database.js";
import { openVerifier } from "./verify.js";

test("a key that is revoked while it is looked up is not accepted afterwards", async () => {
  const stored: Row = { id: "k", prefix: "p", name: "", user_id: "u", user_name: "ana", entity: "acme", role: "read" };
  let respond: ((rows: Row[]) => void) | undefined;
  const rows = async () => await new Promise<Row[]>((resolve) => (respond = resolve));
  const statements = { rows, run: async () => undefined };
  const database = { ...statements, transaction: async () => expect.unreachable(), close: async () => undefined };
  const verifier = openVerifier(database, undefined, () => 1n);
  const early = verifier.check("secret");
  verifier.forget();
  respond?.([{ ...stored, created_at: 1n }]);
  expect(await early).toHaveProperty("caller");
  const late = verifier.check("secret");
  respond?.([{ ...stored, created_at: 1n, revoked_at: 1n }]);
  expect(await late).toEqual({ refused: "revoked", key_id: "k" });
});
