import type { Connection, RequestOptions } from "./connection.js";
import type { OutgoingRequest } from "./exchange.js";
import { exchange } from "./exchange.js";

/** An operation whose response is one JSON document or empty (undefined). The generator names `Result`. */
export async function readJson<Result>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): Promise<Result> {
  const { data, deadline } = await exchange(connection, outgoing, options, "json");
  deadline.release();
  return data as Result;
}
