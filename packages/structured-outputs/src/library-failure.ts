import type { WireError } from "@heddle/concurrency";

/**
 * Converts an abort of the grammar library to an error about the constraint. `printed` is the console output of the
 * library. `memoryLimit` is set if the library tried to exceed it.
 */
export function libraryFailure(error: unknown, printed: readonly string[], memoryLimit: number | undefined): WireError {
  if (memoryLimit !== undefined) {
    const limit = `${Math.round(memoryLimit / 2 ** 20)} MB`;
    return {
      code: "too_large",
      message: `The constraint needs more than the ${limit} of memory for constraints.`,
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
  return { code: "invalid", message: `The constraint cannot be used: the grammar library rejected it (${detail}).` };
}

/** Returns the reason in a line of output, without source file and failed condition. */
function reasonOf(line: string): string {
  const reason = line
    .replace(/^\[FATAL\] \S+:\d+: /, "")
    .replace(/^Check failed: \(.*?\) is false: /, "")
    .trim();
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
