import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { checkOneNode } from "./one-node.js";

/** What responds in turn as each of these servers; one without a name refuses. */
async function behindBalancer<T>(nodes: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
  let next = 0;
  const server = createServer((request, response) => {
    request.resume();
    const node = nodes[next++ % nodes.length] ?? "";
    response.writeHead(node === "" ? 500 : 200, { "content-type": "application/x-ndjson" });
    response.end(node === "" ? "Code: 46" : `${JSON.stringify({ node })}\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

test("an address of several servers is refused, as their tables would each have a part of the rows", async () => {
  await behindBalancer(["a 1", "b 2", "c 3"], async (url) => {
    await expect(checkOneNode({ url })).rejects.toMatchObject({
      code: "incompatible",
      message: expect.stringContaining("leads to 3 ClickHouse servers"),
    });
  });
});

test("one server is one, however often it is asked, and also where it does not say which", async () => {
  await behindBalancer(["a 1"], async (url) => await checkOneNode({ url }));
  await behindBalancer(["", "a 1"], async (url) => await checkOneNode({ url }));
  await behindBalancer([""], async (url) => await checkOneNode({ url }));
});
