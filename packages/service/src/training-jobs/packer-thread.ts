import { parentPort } from "node:worker_threads";
import { Problem } from "@heddle/server-stub";
import { toWireError } from "@heddle/threads";
import type { PackerRequest, PackerResponse } from "./packer-protocol.js";
import { TrajectoryPacker } from "./trajectory-packer.js";

let packer = new TrajectoryPacker();

/** Begins with another body after the last chunk of one, and after an error. */
function respondTo({ chunk }: PackerRequest): PackerResponse {
  try {
    if (chunk !== null) return { lines: packer.push(chunk) };
    const header = packer.finish();
    packer = new TrajectoryPacker();
    return { header };
  } catch (error) {
    packer = new TrajectoryPacker();
    if (!(error instanceof Problem)) return { error: toWireError(error) };
    const { status, message, details } = error;
    return { problem: { status, message, details } };
  }
}

parentPort?.on("message", (request: PackerRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(respondTo(request));
});
