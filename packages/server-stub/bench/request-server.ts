import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { toNodeListener } from "@heddle/server-stub/node";
import { createTracingServer } from "@heddle/server-stub/tracing";

// One of the servers that requests.ts compares; the parent asks for its CPU time.

/** What a hand-written server would do at least for the same response: collect, parse, look, print. */
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

/** The framework with its own validation and its own printer, both compiled from schemas as its manual says. */
async function framework(): Promise<RequestListener> {
  const text = { type: "string" };
  const start = {
    type: "object",
    required: ["project_id", "op_name", "started_at", "attributes", "inputs"],
    properties: { project_id: text, op_name: text, started_at: text, attributes: {}, inputs: {} },
  };
  const body = { type: "object", required: ["start"], properties: { start } };
  const response = { type: "object", properties: { id: text, trace_id: text } };
  const app = fastify();
  app.post("/call/start", { schema: { body, response: { 200: response } } }, () => ({ id: "a", trace_id: "b" }));
  await app.ready();
  return (incoming, outgoing) => app.routing(incoming, outgoing);
}

const kinds = { bare: () => bare, stub: () => stub, fastify: framework };
const kind = kinds[process.argv[2] as keyof typeof kinds];
const server = createServer(await kind());
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
