import { expect, test } from "vitest";
import { openRecorded } from "../../test/recorded-plans.js";
import { foundation } from "../migrations/0001-foundation.js";
import { annotationQueues } from "../migrations/0003-annotation-queues.js";
import { openAnnotationQueues } from "./annotation-queues.js";
import type { AnnotationQueues } from "./annotation-queues.js";

const queue = { project_id: "acme/demo", queue_id: "q" };

async function plansOf(work: (queues: AnnotationQueues) => Promise<unknown>): Promise<string[]> {
  const recorded = await openRecorded([foundation, annotationQueues]);
  const queues = openAnnotationQueues(recorded.database, () => 1n);
  const createdQueue = {
    id: "q",
    project_id: "acme/demo",
    name: "q",
    description: "",
    scorer_refs: [],
    created_by: "ann",
  };
  await queues.create(createdQueue);
  await work(queues);
  return (await recorded.plans()).map((steps) => steps.join("; "));
}

test("pages of items are read from an index, in the order of each field", async () => {
  const fields = ["created_at", "updated_at", "call_started_at", "call_op_name"];
  const plans = await plansOf(async (queues) => {
    await queues.queryItems({ ...queue, limit: 50 });
    await queues.queryItems({ ...queue, limit: 50, filter: { annotation_states: ["unstarted"] } });
    await queues.queryItems({ ...queue, filter: { call_id: "c" } });
    for (const field of fields)
      await queues.queryItems({ ...queue, limit: 50, sort_by: [{ field, direction: "asc" }] });
  });
  for (const plan of plans) expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test("the next item is found by an index", async () => {
  const claim = { ...queue, annotator_user_id: "ann", lease_us: 1n };
  const plans = await plansOf(async (queues) => await queues.claimNext(claim));
  expect(plans).toHaveLength(4);
  for (const plan of plans) expect(plan).not.toContain("SCAN");
  expect(plans[1]).toContain(
    "annotation_queue_items_by_claimant (project_id=? AND queue_id=? AND claimed_by=? AND claimed_until>? AND claimed_until<?)",
  );
  expect(plans[2]).toContain("annotation_queue_items_by_claim (");
  expect(plans[3]).toMatch(/annotation_queue_items_by_state \([^()]*annotation_state>\? AND annotation_state<\?\)$/);
});
