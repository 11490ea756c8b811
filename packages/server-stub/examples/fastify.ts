import fastify from "fastify";
import { toNodeListener } from "@heddle/server-stub/node";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { handlers, options } from "./calls.js";

// Fastify keeps the whole path of a request.
const listener = toNodeListener(createTracingServer({ calls: handlers }, { ...options, prefixes: ["/heddle"] }));

const app = fastify();
app.all("/heddle/*", {
  // Ahead of Fastify's own parser of bodies.
  onRequest: async (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  },
  handler: () => undefined,
});
await app.listen({ port: 4680 });
