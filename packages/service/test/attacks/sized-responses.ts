import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";

/** Sends JSON on a connection of its own, and resolves with the response, which may be left unread. */
export async function openResponse(url: string, key: string, body: object): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const outgoing = request(url, { method: "POST", headers, agent: false });
  outgoing.end(JSON.stringify(body));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  // Cut off by the test or by the service.
  response.on("error", () => {});
  return response;
}

/** Reads a response to its end, and keeps its size and how it begins. */
export async function readSize(response: IncomingMessage) {
  let size = 0;
  let start = "";
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    if (start.length < 1000) start += String(chunk).slice(0, 1000);
  }
  return { status: response.statusCode, size, start };
}
