import { Agent, request } from "node:http";
import type { ServiceProcess } from "./service-process.js";

/** A request that is ready to be sent; its bytes are made before the clock starts. */
export interface ReadyRequest {
  path: string;
  headers: Record<string, string>;
  bytes: Buffer;
}

/** Sends all requests over so many connections, each as soon as its connection is free; milliseconds of each. */
export async function sendAll(
  service: ServiceProcess,
  requests: readonly ReadyRequest[],
  connections: number,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  try {
    return await eachOf(requests, connections, (ready) => send(service, agent, ready));
  } finally {
    agent.destroy();
  }
}

/** Does the work for all items, so many at a time; milliseconds of each. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  let next = 0;
  const worker = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      const start = performance.now();
      await work(item);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return times;
}

/** Sends one request and reads its whole response; rejects unless it is a 2xx. */
export function send(
  { url, key }: Pick<ServiceProcess, "url" | "key">,
  agent: Agent,
  { path, headers, bytes }: ReadyRequest,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}${path}`,
      {
        agent,
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-length": bytes.length, ...headers },
      },
      (response) => {
        let size = 0;
        const failed: Buffer[] = [];
        const good = (response.statusCode ?? 500) < 300;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (!good) failed.push(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          if (good) resolve(size);
          else reject(new Error(`${path}: ${response.statusCode} ${Buffer.concat(failed).toString().slice(0, 300)}`));
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(bytes);
  });
}
