import type { Connection, RequestOptions } from "./connection.js";
import type { OutgoingRequest } from "./exchange.js";
import { exchange } from "./exchange.js";

/** An operation answered by one JSON document, or by nothing (undefined). `Result` is the generator's word. */
export async function readJson<Result>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): Promise<Result> {
  const { data, deadline } = await exchange(connection, outgoing, options, "json");
  deadline.release();
  return data as Result;
}
