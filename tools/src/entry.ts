import { fileURLToPath } from "node:url";
import { UnsupportedSpecError } from "./model/unsupported-spec-error.js";

/** True in the file that was started. From then on an unsupported document ends the process with its message alone. */
export function isEntry(url: string): boolean {
  if (process.argv[1] !== fileURLToPath(url)) return false;
  process.on("uncaughtException", (error) => {
    console.error(error instanceof UnsupportedSpecError ? `unsupported spec: ${error.message}` : error);
    process.exitCode = 1;
  });
  return true;
}
