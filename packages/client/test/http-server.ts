import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A real server for one test; closed when the test ends. */
export async function startServer(
  listener: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<{ baseUrl: string }> {
  const server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/**
 * A server that responds with the given status, headers and body, one after the other, then always with the last one.
 */
export async function startScript(...responses: [status: number, headers?: Record<string, string>, body?: string][]) {
  const requests: IncomingMessage[] = [];
  const server = await startServer((request, response) => {
    const [status, headers, body] = responses[Math.min(requests.length, responses.length - 1)]!;
    requests.push(request);
    response.writeHead(status, headers).end(body);
  });
  return { ...server, requests };
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Resolves when the other side has disconnected. */
export function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once("close", resolve));
}
