import type { Detail } from "@heddle/server-stub";
import type { WireError } from "@heddle/threads";
import type { RlRequestHeader } from "./trajectory-packer.js";

/** A chunk of the body; null after the last one. */
export interface PackerRequest {
  chunk: Uint8Array | null;
}

/** The response to one request. */
export type PackerResponse =
  | { lines: Uint8Array }
  | { header: RlRequestHeader }
  | { problem: { status: number; message: string; details: Detail[] | undefined } }
  | { error: WireError };
