import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";

/** Asks an engine host over its socket, beside whoever else uses it; rows as text, one per line. Throws the engine's error. */
export async function engineQuery(socketPath: string, sql: string): Promise<string[]> {
  const asked = request({ socketPath, path: "/", method: "POST", agent: false });
  asked.end(sql);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += String(chunk);
  if (answer.statusCode !== 200) throw new Error(text);
  return text.split("\n").filter((line) => line !== "");
}
