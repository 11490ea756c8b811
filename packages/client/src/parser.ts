import type { AnyRequestOptions, Connection } from "./connection.js";
import type { OutgoingRequest } from "./request.js";

/** How the JSON of a response is parsed. What keeps free JSON as text is loaded when it is first asked for. */
export async function parserOf(
  connection: Connection,
  { operationId }: OutgoingRequest,
  { raw }: AnyRequestOptions,
): Promise<(text: string) => unknown> {
  if (!raw) return JSON.parse;
  const [{ readRaw }, table] = await Promise.all([import("./raw/read-raw.js"), connection.rawPlans?.()]);
  const { plans = [], operations = {} } = table?.raw ?? {};
  const plan = plans[operations[operationId] ?? -1];
  return plan === undefined ? JSON.parse : (text) => readRaw(text, plan, plans);
}
