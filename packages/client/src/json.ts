import type { Connection, RequestOptions } from "./connection.js";
import { exchange } from "./exchange.js";
import { notJson } from "./not-json.js";
import type { OutgoingRequest } from "./request.js";

/** An operation whose response is one JSON document or empty (undefined). The generator names `Result`. */
export async function readJson<Result>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: RequestOptions = {},
): Promise<Result> {
  const { data, deadline } = await exchange(connection, outgoing, options, async (response) => {
    const text = await response.text();
    try {
      return (text ? JSON.parse(text) : undefined) as Result;
    } catch (cause) {
      throw notJson(outgoing, response, text, cause);
    }
  });
  deadline.release();
  return data;
}
