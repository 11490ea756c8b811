import { HeddleError } from "@heddle/errors";
import { corruptData } from "./corrupt-data.js";
import { StatementError } from "./statement-error.js";

/** ClickHouse errors after which the same statement may work later. */
const busyMessages = new Map<number, string>([
  [159, "The trace engine took too long"],
  [160, "The trace engine took too long"],
  [202, "The trace engine has too many statements at once"],
  [209, "The trace engine lost a connection"],
  [210, "The trace engine lost a connection"],
  [236, "The trace engine is shutting down"],
  [241, "The trace engine is out of memory"],
  [242, "A trace table is read-only at the moment"],
  [243, "The disk of the trace engine is full"],
  [252, "The trace engine cannot merge as fast as it is written to"],
  [285, "Too few replicas of the trace engine respond"],
  [286, "A replica of the trace engine did not respond in time"],
  [319, "A replica of the trace engine did not respond in time"],
  [394, "The trace engine stopped the statement"],
  [425, "The trace engine cannot use its disk"],
  [439, "The trace engine has no thread left"],
  [999, "The trace engine lost its coordinator"],
]);

/** Errors of files and of the standard library. Besides the engine's own error for it, a full disk can cause one of these. */
const fileErrors = new Set([75, 76, 77, 87, 88, 228, 424, 1000, 1001, 1002]);

/** ClickHouse errors that say that the statement itself is too large, which follows from the size of the request's query. */
const tooLargeErrors = new Set([167, 168, 306]);
/** A statement that gets too large once casts are explicit has no number of its own. */
const badArguments = 36;

/** True when the connection was lost before a response came. Whether a write was applied is then unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return (
    code === "ECONNRESET" || code === "EPIPE" || code === "ECONNREFUSED" || error.message.includes("socket hang up")
  );
}

/** Maps what the client throws to the store's errors. An abort by the caller's signal keeps the signal's reason. */
export function engineFailure(error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof HeddleError || error instanceof StatementError) return error;
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  // The engine's own errors carry their number as the code; system errors a name such as ECONNREFUSED.
  if (!/^\d+$/.test(code)) return new HeddleError("busy", "The trace engine does not respond", { cause: error });
  const number = Number(code);
  const full = fileErrors.has(number) && /No space left on device|Disk quota exceeded/.test(error.message);
  const busy = isOfFormerWriter(error) ? formerWriter : busyMessages.get(full ? 243 : number);
  if (busy !== undefined) return new HeddleError("busy", busy, { cause: error });
  if (tooLargeErrors.has(number) || (number === badArguments && error.message.includes("tree is too big"))) {
    return new HeddleError("too_large", "The query has too many conditions, or they are nested too deeply", {
      cause: error,
    });
  }
  const corrupt = corruptData(number, error.message, error);
  if (corrupt !== undefined) return corrupt;
  const type = "type" in error && typeof error.type === "string" ? error.type : "UNKNOWN";
  return new StatementError(error.message, number, type, error);
}

/** Whether the engine has refused rows because another process has taken the database over since their writer did. */
export function isFenced(error: unknown): boolean {
  return error instanceof HeddleError && error.cause instanceof Error && isOfFormerWriter(error.cause);
}

const formerWriter = "Another service writes the tracing database now: nothing of this was stored";

/** A constraint that rows violate is theirs, unless it is the one about their writer. */
function isOfFormerWriter(error: Error): boolean {
  return codeOf(error) === "469" && error.message.startsWith("Constraint `writer` ");
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}
