import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Where a host listens, over all its restarts. */
export type Address =
  | { kind: "socket"; path: string; temporaryDirectory: string | undefined }
  | { kind: "port"; port: number; password: string };

/** What the operating systems allow for the path of a socket, its final zero included (macOS 104, Linux 108). */
const maxSocketPathBytes = 104;

export function chooseAddress(directory: string, listen: "socket" | { port: number }): Address {
  if (listen !== "socket") {
    // SQL can read files, so a port is never open to other users of the machine.
    const password = randomBytes(24).toString("base64url");
    return { kind: "port", port: listen.port, password };
  }
  const path = join(resolve(directory), "engine.sock");
  if (Buffer.byteLength(path) < maxSocketPathBytes) {
    mkdirSync(directory, { recursive: true });
    chmodSync(directory, 0o700);
    return { kind: "socket", path, temporaryDirectory: undefined };
  }
  const short = mkdtempSync(join(tmpdir(), "heddle-"));
  return { kind: "socket", path: join(short, "engine.sock"), temporaryDirectory: short };
}

/** The host removes the socket itself when it closes; after a failed start the path may belong to another host. */
export function releaseAddress(address: Address): void {
  if (address.kind === "socket" && address.temporaryDirectory !== undefined) {
    rmSync(address.temporaryDirectory, { recursive: true, force: true });
  }
}
