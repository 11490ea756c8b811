import type { Scope } from "./context.js";
import { storage } from "./context.js";
import { newId } from "./ids.js";
import { send } from "./sender.js";
import { settings } from "./settings.js";
import { toJson } from "./values.js";

export interface SpanOptions {
  /** Recorded with each call. */
  attributes?: Record<string, unknown>;
  /** The conversation that the calls belong to; those inside are in it, too. */
  thread?: string;
}

export interface Span {
  /** Runs it as what the call does: calls that start inside become its children. */
  run: <Result>(run: () => Result) => Result;
  /** A later end replaces what an earlier one said. */
  end: (output: unknown, summary?: Record<string, unknown>) => void;
  fail: (error: unknown) => void;
}

/** Longest name of an operation that is not a ref. */
const maxName = 128;

/** Starts a call. Neither this nor what it returns throws. */
export function startSpan(name: string, inputs: unknown, { attributes = {}, thread }: SpanOptions = {}): Span {
  const parent = storage.getStore();
  const id = newId();
  const threadId = thread ?? parent?.thread;
  const turn = threadId === undefined || threadId === parent?.thread ? parent?.turn : id;
  const counts = { success: 0, error: 0 };
  const scope: Scope = { id, traceId: parent?.traceId ?? newId(), thread: threadId, turn, counts };
  const { project } = settings();

  const record = (mode: "start" | "end", fields: Record<string, unknown>, free: Record<string, unknown>): boolean => {
    const members = Object.entries(free).map(([key, value]) => `,"${key}":${toJson(value)}`);
    const known = JSON.stringify({ project_id: project, id, ...fields }).slice(0, -1);
    return send(`{"mode":"${mode}","req":{"${mode}":${known}${members.join("")}}}}`, mode === "end");
  };
  const isKept = record(
    "start",
    {
      op_name: name.slice(0, maxName),
      trace_id: scope.traceId,
      parent_id: parent?.id,
      thread_id: threadId,
      turn_id: turn,
      started_at: new Date().toISOString(),
    },
    { attributes, inputs },
  );
  let isCounted = false;
  const finish = (outcome: "success" | "error", fields: Record<string, unknown>, summary?: Record<string, unknown>) => {
    if (!isCounted) {
      isCounted = true;
      counts[outcome] += 1;
      if (parent) {
        parent.counts.success += counts.success;
        parent.counts.error += counts.error;
      }
    }
    if (!isKept) return;
    record(
      "end",
      { ended_at: new Date().toISOString() },
      { ...fields, summary: { ...summary, status_counts: counts } },
    );
  };
  return {
    run: (run) => storage.run(scope, run),
    end: (output, summary) => finish("success", { output }, summary),
    fail: (error) => finish("error", { exception: describe(error) }),
  };
}

function describe(error: unknown): string {
  try {
    const { stack } = error as { stack?: unknown };
    if (typeof stack === "string" && stack !== "") return stack;
    if (error instanceof Error) return String(error);
    return typeof error === "string" ? error : toJson(error);
  } catch {
    return "an error that cannot be read";
  }
}
