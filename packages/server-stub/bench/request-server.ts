import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeListener } from "@heddle/server-stub/node";
import { createTracingServer } from "@heddle/server-stub/tracing";

// One of the servers that requests.ts compares; the parent asks for its CPU time.

/** What a hand-written server would do at least for the same answer: collect, parse, look, print. */
const bare: RequestListener = (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { start?: { project_id?: unknown } };
    if (typeof body.start?.project_id !== "string") return outgoing.writeHead(422).end();
    const text = JSON.stringify({ id: "a", trace_id: "b" });
    outgoing.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    return outgoing.end(text);
  });
};

const stub = toNodeListener(
  createTracingServer(
    { calls: { callStart: () => ({ id: "a", trace_id: "b" }) } },
    { authenticate: ({ secret }) => secret, prefixes: ["/traces"] },
  ),
);

const server = createServer(process.argv[2] === "stub" ? stub : bare);
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
