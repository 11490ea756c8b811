import type { AnyRequestOptions, Connection } from "./connection.js";
import { exchange } from "./exchange.js";
import { parserOf } from "./parser.js";
import { notJson } from "./not-json.js";
import type { OutgoingRequest } from "./request.js";

/** An operation whose response is one JSON document or empty (undefined). The generator names `Result`. */
export async function readJson<Result>(
  connection: Connection,
  outgoing: OutgoingRequest,
  options: AnyRequestOptions = {},
): Promise<Result> {
  const parse = await parserOf(connection, outgoing, options);
  const { data, deadline } = await exchange(connection, outgoing, options, async (response) => {
    const text = await response.text();
    try {
      return (text ? parse(text) : undefined) as Result;
    } catch (cause) {
      throw notJson(outgoing, response, text, cause);
    }
  });
  deadline.release();
  return data;
}
