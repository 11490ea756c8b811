import { expect, test } from "vitest";
import { SenderShapes } from "./sender-shapes.js";

test("each key has shapes of its own, and those of keys that have not exported for long are dropped", () => {
  const senders = new SenderShapes();
  const [first, second] = [senders.of("a"), senders.of("b")];
  expect(first).not.toBe(second);
  for (let key = 0; key < 15; key++) {
    expect(senders.of("a")).toBe(first);
    senders.of(`key-${key}`);
  }
  expect(senders.of("a")).toBe(first);
  expect(senders.of("b")).not.toBe(second);
});
