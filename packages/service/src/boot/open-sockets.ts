import type { HttpServer } from "@heddle/server-stub";
import { BodiesInFlight } from "@heddle/server-stub/node";
import { listenForOtlpGrpc, listenForRequests } from "./listening.js";
import type { Base } from "./open-base.js";

/** Where requests come in. */
export interface Sockets {
  url: string;
  port: number;
  otlpGrpcUrl: string | undefined;
  /** Takes no more connections and cuts those that run after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export async function openSockets(
  { config, log, observability, beforeListening }: Base,
  { http, grpc }: { http: HttpServer; grpc: HttpServer },
): Promise<Sockets> {
  const bodies = new BodiesInFlight({
    maxBodyBytesInFlight: config.bodyMemoryBytes,
    bodyStallMs: config.bodyTimeoutMs,
  });
  await beforeListening();
  const requests = await listenForRequests(http, config, { bodies, onRefused: observability.onRefused });
  const otlp = await listenForOtlpGrpc(grpc, config, { bodies, log: (line) => log.warn(line) });
  return {
    url: requests.url,
    port: requests.port,
    otlpGrpcUrl: otlp?.url,
    close: async (graceMs) => void (await Promise.all([requests.close(graceMs), otlp?.close(graceMs)])),
  };
}
