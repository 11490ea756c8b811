import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";

/** Queries an engine host over its socket, next to its other clients; rows as text, one per line. Throws the engine's error. */
export async function engineQuery(socketPath: string, sql: string): Promise<string[]> {
  const asked = request({ socketPath, path: "/", method: "POST", agent: false });
  asked.end(sql);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
  if (response.statusCode !== 200) throw new Error(text);
  return text.split("\n").filter((line) => line !== "");
}
