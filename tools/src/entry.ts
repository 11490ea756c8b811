import { fileURLToPath } from "node:url";
import { Refusal } from "./refusal.js";

/** True in the file that was started. From then on a refused document ends the process with its sentence alone. */
export function isEntry(url: string): boolean {
  if (process.argv[1] !== fileURLToPath(url)) return false;
  process.on("uncaughtException", (error) => {
    console.error(error instanceof Refusal ? `spec refused: ${error.message}` : error);
    process.exitCode = 1;
  });
  return true;
}
