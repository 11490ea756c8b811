import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** What a server of others received. */
export interface Received {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A value to be sent as JSON, or what responds itself. */
export type Route = object | ((response: ServerResponse, request: Received) => void);
/** By method and path. */
export type Routes = Record<string, Route>;

/** A model server of others: a real one, on this machine. */
export async function startUpstream(routes: Routes, host = "127.0.0.1") {
  const received: Received[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers } = request;
    const one = { method, path: url, headers, body: await text(request) };
    received.push(one);
    const route = routes[`${method} ${url.split("?")[0]}`];
    if (route === undefined) json(response, { error: { message: "no such path" } }, 404);
    else if (typeof route === "function") route(response, one);
    else json(response, route);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    received,
    /** Changes how it responds. */
    routes,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

/** One transparent pixel. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export const model = {
  id: "acme/loom-8b",
  hugging_face_id: "acme/loom-8b",
  name: "Loom 8B",
  created: 1775811600,
  input_modalities: ["text"],
  output_modalities: ["text"],
  quantization: "bf16",
  context_length: 131072,
  max_output_length: 32768,
  pricing: { prompt: "0.0000001", completion: "0.0000004", image: "0", request: "0", input_cache_read: "0" },
  supported_sampling_parameters: ["temperature"],
  supported_features: ["tools"],
  datacenters: [{ country_code: "DE" }],
};

export const machine = {
  id: "1x-l40s",
  name: "One L40S",
  type: "gpu",
  pricing: { cents_per_million_input_tokens: 8.5, cents_per_million_output_tokens: 34 },
};

const usage = { input_tokens: 6, output_tokens: 272, total_tokens: 278 };

/** A server with one model of each kind. */
export const openAiLike: Routes = {
  "POST /images/generations": { created: 1775811600, data: [{ b64_json: png.toString("base64") }], usage },
  "GET /models": { data: [model] },
  "GET /hardware": { hardware: [machine] },
};

/** Writes a file for `HEDDLE_PROVIDERS` and returns its path. */
export function writeProviders(directory: string, providers: unknown): string {
  const path = join(directory, "providers.json");
  writeFileSync(path, typeof providers === "string" ? providers : JSON.stringify(providers));
  return path;
}
