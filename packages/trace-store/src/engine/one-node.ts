import { ClickHouseLogLevel, createClient } from "@clickhouse/client";
import { HeddleError } from "@heddle/errors";
import type { EngineConnection } from "./engine.js";

/** Each over a connection of its own: what distributes connections has so many opportunities to show it. */
const attempts = 6;

/** Addresses of one server, which are not asked again by this process: whoever takes a database over does so at once. */
const checked = new Set<string>();

/**
 * Throws `incompatible` where an address leads to several servers. Each of them would have a part of the rows, and where
 * tables are replicated, some of them would lack the last ones. A server that does not say which one it is, or does not respond, is taken for one.
 */
export async function checkOneNode(connection: EngineConnection, cluster?: string): Promise<void> {
  // A socket of this machine.
  if (connection.http_agent !== undefined) return;
  const { url } = connection;
  const key = url === undefined ? undefined : String(url);
  if (key !== undefined && checked.has(key)) return;
  const found = await Promise.all(Array.from({ length: attempts }, async () => await nodeAt(connection)));
  const nodes = new Set(found.filter((node) => node !== undefined));
  if (nodes.size < 2) {
    if (key !== undefined && nodes.size === 1) checked.add(key);
    return;
  }
  throw new HeddleError(
    "incompatible",
    `The address of the tracing database leads to ${nodes.size} ClickHouse servers, ${cluster === undefined ? "and its tables are not replicated" : `and those of the cluster ${cluster} get rows one after another`}: give that of one server`,
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
