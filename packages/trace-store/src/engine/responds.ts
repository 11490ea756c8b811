import { HeddleError } from "@heddle/errors";
import { connectEngine } from "./engine.js";
import type { EngineConnection } from "./engine.js";

/** Statements have much longer. */
const withinMs = 5000;

/** Throws `busy` soon where a server takes connections and does not respond: another process may reach it. */
export async function checkResponds(connection: EngineConnection): Promise<void> {
  // A socket of this machine.
  if (connection.http_agent !== undefined) return;
  const engine = connectEngine({ ...connection, request_timeout: withinMs }, "default");
  try {
    await engine.rows({ sql: "SELECT 1" });
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "busy") throw error;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    throw new HeddleError("busy", "the tracing database does not respond", {
      cause: new Error(`no response from the ClickHouse server at ${addressOf(connection)}: ${reason}`, {
        cause: error,
      }),
    });
  } finally {
    await engine.close();
  }
}

/** Without its credentials. */
function addressOf({ url = "" }: EngineConnection): string {
  const text = String(url);
  return URL.canParse(text) ? new URL(text).host : text;
}
