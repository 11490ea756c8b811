import type { ErrorCode } from "@heddle/errors";

// Messages between the parent and the engine host, over the pipe between them.

export interface HostOptions {
  directory: string;
  memoryBytes: number;
  listen: { path: string } | { port: number; password: string };
}

export type ToHost = { type: "start"; options: HostOptions } | { type: "probe" } | { type: "close" };

export type FromHost =
  | { type: "ready"; port: number | undefined; version: string }
  | { type: "alive" }
  | { type: "failed"; code: ErrorCode; message: string };
