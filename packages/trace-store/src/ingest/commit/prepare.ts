import { isCallId, isStorableTime } from "@heddle/trace-model";
import type { CallPart } from "@heddle/trace-model";
import { HeddleError } from "@heddle/errors";
import { encodeCall } from "../../encoding/encode-call.js";
import type { CallSides, EncodedCall } from "../../encoding/encode-call.js";
import { encodeLargeCall, isLarge } from "../../encoding/large-values.js";
import { keyText } from "../../stored-calls/call-key.js";
import type { CallKey } from "../../stored-calls/call-key.js";

/** A part that is not stored; all others of the request are. */
export interface RejectedPart {
  /** Position in the request. */
  index: number;
  /** The field at fault, where it is one. */
  field?: string;
  message: string;
}

/** A part in the form a commit works with. */
export interface PreparedPart extends CallKey, EncodedCall {
  index: number;
  key: string;
  /** The time of the start as far as this part knows it. */
  started_at?: bigint;
}

/**
 * Checks one part on its own and turns it into the texts of its columns. Of a part with large texts that is a promise: a
 * thread does it.
 */
export function preparePart(
  part: CallPart,
  index: number,
): PreparedPart | RejectedPart | Promise<PreparedPart | RejectedPart> {
  const start = part.part === "end" ? undefined : part.start;
  const end = part.part === "start" ? undefined : part.end;
  const { project_id, id } = part.part === "end" ? part.end : part.start;
  const fault =
    badId("id", id) ??
    badId("trace_id", start?.trace_id) ??
    badId("parent_id", start?.parent_id || undefined) ??
    badTime("started_at", start?.started_at) ??
    badTime("ended_at", end?.ended_at) ??
    badStep("wb_run_step", start?.wb_run_step) ??
    badStep("wb_run_step_end", end?.wb_run_step_end);
  if (fault !== undefined) return { index, ...fault };
  const known = {
    index,
    key: keyText({ project_id, id }),
    project_id,
    id,
    started_at: start?.started_at ?? hint(end?.started_at),
  };
  const sides = { key: { project_id, id }, start, end };
  if (isLarge(...textsOf(sides))) return prepareLarge(known, sides);
  return Object.assign(known, encodeCall(sides));
}

async function prepareLarge(known: PreparedPart, sides: CallSides): Promise<PreparedPart | RejectedPart> {
  try {
    return Object.assign(known, await encodeLargeCall(sides));
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "too_large") throw error;
    return { index: known.index, message: `storing the call ${error.message}` };
  }
}

const textsOf = ({ start, end }: CallSides) => [
  start?.attributes,
  start?.inputs,
  end?.output,
  end?.summary,
  end?.exception,
];

type Fault = Required<Pick<RejectedPart, "field" | "message">>;

function badId(field: string, id: string | undefined): Fault | undefined {
  if (id === undefined || isCallId(id)) return undefined;
  return { field, message: `${field} must have 1 to 256 characters and no lone surrogates` };
}

function badTime(field: string, us: bigint | undefined): Fault | undefined {
  if (us === undefined || isStorableTime(us)) return undefined;
  return { field, message: `${field} must lie between the years 1900 and 2299` };
}

function badStep(field: string, step: number | undefined): Fault | undefined {
  if (step === undefined || (Number.isSafeInteger(step) && step >= 0)) return undefined;
  return { field, message: `${field} must be a whole number from 0 to 2^53 - 1` };
}

function hint(us: bigint | undefined): bigint | undefined {
  return us !== undefined && isStorableTime(us) ? us : undefined;
}
