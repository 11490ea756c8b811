import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { HeddleError } from "@heddle/errors";
import type { EngineConnection } from "./engine.js";

/** Each over a connection of its own: what distributes connections has so many opportunities to show it. */
const attempts = 6;

/**
 * Throws `incompatible` where an address leads to several servers: the tables are not replicated, and each of them would
 * have a part of the rows. A server that does not say which one it is, or does not respond, is taken for one.
 */
export async function checkOneNode(connection: EngineConnection): Promise<void> {
  // A socket of this machine.
  if (connection.http_agent !== undefined) return;
  const nodes = new Set<string>();
  for (let attempt = 0; attempt < attempts; attempt++) nodes.add((await nodeAt(connection)) ?? "");
  nodes.delete("");
  if (nodes.size < 2) return;
  throw new HeddleError(
    "incompatible",
    `The address of the tracing database leads to ${nodes.size} ClickHouse servers, and its tables are not replicated: give that of one server`,
  );
}

async function nodeAt(connection: EngineConnection): Promise<string | undefined> {
  const client = createClient({
    request_timeout: 10_000,
    ...connection,
    keep_alive: { enabled: false },
    log: { level: ClickHouseLogLevel.OFF },
  });
  try {
    const query = "SELECT concat(hostName(), ' ', toString(serverUUID())) AS node";
    const [row] = await (await client.query({ query, format: "JSONEachRow" })).json<{ node: string }>();
    return row?.node;
  } catch {
    // The first statement that needs it says why.
    return undefined;
  } finally {
    await client.close();
  }
}
