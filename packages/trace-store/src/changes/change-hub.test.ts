import { expect, test } from "vitest";
import { openWrites } from "../open-writes.js";
import { versionClock } from "../version-clock.js";
import { changeHub } from "./change-hub.js";

test("what was not published is looked for in the store, also when another write was under way as that was noticed", () => {
  const clock = versionClock(() => 0n);
  const writes = openWrites(clock, () => undefined);
  const hub = changeHub(
    () => writes.settled(),
    () => clock.last(),
  );
  const { changes, close } = hub.follow("acme/demo");
  const endOther = writes.begin();
  const position = writes.settled();
  const other = { kind: "call" as const, id: "other", version: clock.next() };
  const endLost = writes.begin();
  const lost = clock.next();
  endLost();
  hub.forget();
  hub.publish("acme/demo", other);
  endOther();
  changes.advance();
  expect(changes.boundary).toBe(lost);
  expect(changes.between(position, changes.boundary)).toBeUndefined();
  const later = { kind: "call" as const, id: "later", version: clock.next() };
  hub.publish("acme/demo", later);
  expect(changes.between(lost, later.version)).toEqual([later]);
  close();
});

test("what was published before there was a reader is looked for in the store, also when another write was under way", () => {
  const clock = versionClock(() => 0n);
  const writes = openWrites(clock, () => undefined);
  const hub = changeHub(
    () => writes.settled(),
    () => clock.last(),
  );
  const endOther = writes.begin();
  const endFirst = writes.begin();
  const first = { kind: "feedback" as const, id: "call", feedback_id: "first", version: clock.next() };
  hub.publish("acme/demo", first);
  endFirst();
  const { changes, close } = hub.follow("acme/demo");
  const position = changes.boundary;
  expect(position).toBeLessThan(first.version);
  const second = { kind: "call" as const, id: "second", version: clock.next() };
  hub.publish("acme/demo", second);
  endOther();
  changes.advance();
  expect(changes.boundary).toBe(second.version);
  expect(changes.between(position, changes.boundary)).toBeUndefined();
  expect(changes.between(first.version, changes.boundary)).toEqual([second]);
  close();
});
