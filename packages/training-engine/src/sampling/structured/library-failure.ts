import type { WireError } from "../../wire-error.js";

/**
 * What an abort of the grammar library means to the one who wrote the constraint. `printed` is what the library wrote to the console;
 * `memoryLimit` is set when it asked for more memory than that.
 */
export function libraryFailure(error: unknown, printed: readonly string[], memoryLimit: number | undefined): WireError {
  if (memoryLimit !== undefined) {
    const limit = `${Math.round(memoryLimit / 2 ** 20)} MB`;
    return {
      code: "too_large",
      message: `The constraint needs more memory than the ${limit} there are for constraints.`,
    };
  }
  const fatal = printed.findLast((line) => line.startsWith("[FATAL]"));
  if (fatal) return { code: "invalid", message: `The constraint cannot be used: ${reasonOf(fatal)}` };
  if (
    error instanceof RangeError ||
    (error instanceof Error && /call stack|unreachable|out of bounds/.test(error.message))
  ) {
    return { code: "too_large", message: "The constraint nests too deeply or is too large to compile." };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { code: "invalid", message: `The constraint cannot be used: the grammar library refused it (${detail}).` };
}

/** Without the file of the library's build and without the condition that did not hold. */
function reasonOf(line: string): string {
  const reason = line
    .replace(/^\[FATAL\] \S+:\d+: /, "")
    .replace(/^Check failed: \(.*?\) is false: /, "")
    .trim();
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
