import { createContext, Script } from "node:vm";
import { HeddleError } from "@heddle/errors";

const context = createContext({ run: (): unknown => undefined });
const script = new Script("run()");

/**
 * Runs a synchronous function whose time depends on what users wrote, and throws `too_large` when it takes longer. The
 * function is stopped in the middle of its work: what it changed must not be used again.
 */
export function withinTime<T>(ms: number, run: () => T): T {
  context["run"] = run;
  try {
    return script.runInContext(context, { timeout: ms }) as T;
  } catch (error) {
    // It is an `Error` of the other context.
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") {
      throw new HeddleError("too_large", `takes longer than ${ms} ms`);
    }
    throw error;
  }
}
