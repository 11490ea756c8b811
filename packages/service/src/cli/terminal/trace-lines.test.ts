import type { TraceOutlineRes } from "@heddle/client/tracing";
import { expect, test } from "vitest";
import { traceLines } from "./trace-lines.js";

const trace: TraceOutlineRes = {
  seq: "1",
  total: 5,
  complete: true,
  names: ["answer", "retrieve", "chat", "late\u001B[2J"],
  ids: ["a", "b", "c", "d", "e"],
  parent: [-1, 0, 1, 0, -1],
  name: [0, 1, 2, 2, 3],
  kind: ["agent", "retrieval", "model", "model", "other"],
  status: ["descendant_error", "success", "success", "error", "running"],
  start_us: [1_000_000, 1_100_000, 1_100_500, 2_000_000, 3_000_000],
  end_us: [4_100_000, 1_200_000, 1_150_500, 2_812_000, null],
  tokens: [0, 0, 1204, 20, 0],
  cost: [null, null, 0.012_34, null, null],
  children: [2, 1, 0, 0, 0],
  missing_parents: [],
  cycles: 0,
};
const exceptions = new Map([["d", '{"type": "RateLimit", "message": "slow\\u001b[31m down"}']]);

test("a trace is a tree with times, tokens, costs and errors", () => {
  expect(traceLines(trace, exceptions, { width: undefined, colors: false })).toEqual([
    "CALL         KIND       STATUS              START    TIME  TOKENS    COST",
    "answer       agent      descendant_error    +0 ms   3.1 s",
    "├─ retrieve  retrieval  success           +100 ms  100 ms",
    "│  └─ chat   model      success           +101 ms   50 ms   1,204  0.0123",
    "└─ chat      model      error                +1 s  812 ms      20",
    "      ! RateLimit: slow⟨1B⟩[31m down",
    "late⟨1B⟩[2J             running              +2 s",
  ]);
});

test("a narrow terminal keeps name, status and time", () => {
  const lines = traceLines(trace, exceptions, { width: 50, colors: false });
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(50);
  expect(lines[0]).toMatch(/^CALL +STATUS +TIME/);
});
