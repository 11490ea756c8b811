import { setImmediate as nextIteration } from "node:timers/promises";
import { expect, it } from "vitest";
import { collectEvents } from "./collect-events.js";
import type { EventsMessage } from "./protocol.js";

function collector() {
  const sent: EventsMessage["calls"][] = [];
  let arrive = (): void => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const events = collectEvents(({ calls }) => {
    sent.push(calls);
    return arrived;
  });
  return { sent, arrive, ...events };
}

it("sends a step for many completions in one message, each completion's events in order", async () => {
  const { sent, emit } = collector();
  for (const event of ["a", "b"]) for (const id of [1, 2, 3]) void emit(id, event);
  expect(sent).toEqual([]);
  await nextIteration();
  expect(sent).toEqual([[1, 2, 3].map((id) => ({ id, events: ["a", "b"] }))]);
  void emit(2, "c");
  await nextIteration();
  expect(sent[1]).toEqual([{ id: 2, events: ["c"] }]);
});

it("sends the events of a call before its result, and nothing twice", async () => {
  const { sent, emit, flush } = collector();
  void emit(1, "a");
  flush();
  expect(sent).toHaveLength(1);
  flush();
  await nextIteration();
  expect(sent).toHaveLength(1);
});

it("says that an event is on its way only when its message is", async () => {
  const { emit, flush, arrive } = collector();
  let isSent = false;
  const sending = emit(1, "a").then(() => (isSent = true));
  flush();
  await nextIteration();
  expect(isSent).toBe(false);
  arrive();
  await sending;
  expect(isSent).toBe(true);
});
