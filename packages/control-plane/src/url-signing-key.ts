import type { Database } from "./database.js";
import { textOf } from "./database.js";
import { newSecret } from "./secret.js";

/** The secret with which this control plane's services sign URLs, made at the first start. */
export async function ensureUrlSigningKey(database: Database): Promise<string> {
  await database.run("INSERT INTO url_signing_key (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [
    newSecret(),
  ]);
  const [row] = await database.rows("SELECT secret FROM url_signing_key WHERE id = 1");
  return textOf(row ?? {}, "secret");
}
