import { pino } from "pino";
import type { Logger } from "pino";
import { currentScope } from "../limits/request-scope.js";
import type { LogSettings } from "../config/config.js";
import { textOfLine } from "./text-line.js";

export type { Logger } from "pino";

export interface LogDestination {
  /** Receives whole lines, each with its line break. */
  write: (line: string) => void;
  /** Removes what must not be written. */
  hide: (text: string) => string;
}

/** Opens the log. Lines that are written for a request have its id and operation. */
export function openLogger({ format, level }: LogSettings, { write, hide }: LogDestination): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      mixin: requestFields,
    },
    { write: (line: string) => write(hide(format === "json" ? line : textOfLine(line))) },
  );
}

function requestFields(): object {
  const scope = currentScope();
  // Work that a request began may go on after its response.
  if (scope === undefined || scope.isEnded) return {};
  return { request_id: scope.id, operation: scope.route?.id };
}

/** These quote what they could not read, which may be a payload. */
const quotingErrors = new Set(["StatementError", "SyntaxError", "ClickHouseError"]);

/** Nothing but name, message and frames: other properties of errors hold requests and rows. */
function describeError(error: unknown): { type: string; stack: string } {
  if (!(error instanceof Error)) return { type: typeof error, stack: String(error) };
  const { name, message, stack = "" } = error;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const loggedMessage = quotingErrors.has(name) ? withoutQuotes(message) : message;
  return { type: name, stack: [`${name}: ${loggedMessage}`, ...frames].join("\n") };
}

function withoutQuotes(message: string): string {
  const [first = ""] = message.split("\n", 1);
  return first.replace(/['"`].*['"`]/, "…");
}
