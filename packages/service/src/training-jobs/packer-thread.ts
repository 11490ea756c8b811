import { parentPort } from "node:worker_threads";
import { Problem } from "@heddle/server-stub";
import { toWireError } from "@heddle/threads";
import type { PackerRequest, PackerResponse } from "./packer-protocol.js";
import { TrajectoryPacker } from "./trajectory-packer.js";

const packer = new TrajectoryPacker();

function respondTo({ chunk }: PackerRequest): PackerResponse {
  try {
    return chunk === null ? { header: packer.finish() } : { lines: packer.push(chunk) };
  } catch (error) {
    if (!(error instanceof Problem)) return { error: toWireError(error) };
    const { status, message, details } = error;
    return { problem: { status, message, details } };
  }
}

parentPort?.on("message", (request: PackerRequest) => parentPort?.postMessage(respondTo(request)));
