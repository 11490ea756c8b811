import { setTimeout as delay } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { untilAcknowledged } from "./until-acknowledged.js";
import type { Wire } from "./wire.js";
import type { Writing } from "./writing.js";

/** Of jobs that began before everything was ended again and again. */
const jobsMs = 120_000;

/**
 * Lets the service score calls that have used a model, in a project of their own, and enters what was used and that each call
 * has one score: jobs run once, and tokens count once, however often something is sent and whoever ends.
 */
export async function writeScoredCalls(writing: Writing): Promise<void> {
  const { random, ledger, stopped } = writing;
  const projectId = `${writing.project_id}-scored`;
  const obj = { project_id: projectId, object_id: "exact", val: {}, builtin_object_class: "ExactMatchScorer" };
  const { digest } = await untilAcknowledged<{ digest: string }>(writing, "/obj/create", { obj });
  const scorer = `weave:///${projectId}/object/exact:${digest}`;
  while (!stopped()) {
    const [root, child] = [randomUUID(), randomUUID()];
    // What a call reports that is equal to what is below it counts as the same tokens: these never are.
    const tokens = [1 + Math.floor(random() * 1000), 1001 + Math.floor(random() * 1000)] as const;
    const batch = [
      usedCall({ project_id: projectId, id: root, trace_id: root }, tokens[0]),
      usedCall({ project_id: projectId, id: child, trace_id: root, parent_id: root }, tokens[1]),
    ];
    await untilAcknowledged(writing, `/v2/${projectId}/calls/complete`, { batch });
    const calls = [root, child];
    await untilAcknowledged(writing, "/calls/score", { project_id: projectId, call_ids: calls, scorer_refs: [scorer] });
    const used = tokens[0] + tokens[1];
    ledger.contents.push({
      kind: "usage and jobs",
      what: `the trace ${root}`,
      expected: { requests: 2, prompt_tokens: used, total_tokens: 2 * used, scores: [1, 1] },
      async read(from) {
        const usage = await from.ask<Usage>("/calls/usage", { project_id: projectId, call_ids: [root] });
        const { requests, prompt_tokens, total_tokens } = usage.call_usage[root]?.["loom"] ?? {};
        return { requests, prompt_tokens, total_tokens, scores: await scoresOf(from, projectId, calls) };
      },
    });
    await delay(200);
  }
}

interface Usage {
  call_usage: Record<string, Record<string, { requests: number; prompt_tokens: number; total_tokens: number }>>;
}

function usedCall(ids: object, tokens: number) {
  const at = Date.now();
  const loom = { requests: 1, prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens };
  return {
    ...ids,
    op_name: "work",
    started_at: new Date(at).toISOString(),
    ended_at: new Date(at + 1000).toISOString(),
    attributes: {},
    inputs: {},
    output: "x",
    summary: { usage: { loom } },
  };
}

/** How often each call was scored, once every one was. */
async function scoresOf(from: Wire, projectId: string, calls: readonly string[]): Promise<number[]> {
  const end = performance.now() + jobsMs;
  for (;;) {
    const counts: number[] = [];
    for (const id of calls) {
      const isCall = { $eq: [{ $getField: "weave_ref" }, { $literal: `weave:///${projectId}/call/${id}` }] };
      const query = { project_id: projectId, query: { $expr: isCall } };
      counts.push((await from.ask<{ result: unknown[] }>("/feedback/query", query)).result.length);
    }
    if (counts.every((count) => count > 0) || performance.now() > end) return counts;
    await delay(200);
  }
}
