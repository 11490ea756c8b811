import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A model server of others: the model `fast` responds with a word at once, `slow` with a long text after a while. */
export async function startModelServer(): Promise<{ url: string; close(): void }> {
  const completion = (content: string) =>
    JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content } }], usage: {} });
  const [word, text] = [completion("loom"), completion("a".repeat(500_000))];
  const server = createServer((request, response) => {
    let start = "";
    request.on("data", (chunk: Buffer) => (start += start.length < 1000 ? chunk.toString() : ""));
    request.on("end", () => {
      const isSlow = start.includes('"slow"');
      response.writeHead(200, { "content-type": "application/json" });
      void delay(isSlow ? 200 : 0).then(() => response.end(isSlow ? text : word));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}
