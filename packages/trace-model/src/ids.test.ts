import { expect, test } from "vitest";
import { derivedId, idTime, isCallId, newId } from "./ids.js";

test("a new id carries its time", () => {
  const id = newId(1_775_811_600_123);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(idTime(id)).toBe(1_775_811_600_123_000n);
  expect(idTime(id.toUpperCase())).toBe(1_775_811_600_123_000n);
  expect(newId()).not.toBe(newId());
});

test.each(["", "00f067aa0ba902b7", "4bf92f3577b34da6a3ce929d0e0e4736", "c9b1f3a0-1111-4222-8333-444455556666"])(
  "the id %s has no time",
  (id) => {
    expect(idTime(id)).toBeUndefined();
  },
);

test("a retried item gets the same id, every other item another", () => {
  const id = derivedId("acme/demo", "retry", 0, "call");
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(idTime(id)).toBeUndefined();
  expect(derivedId("acme/demo", "retry", 0, "call")).toBe(id);
  const others = [
    derivedId("acme/other", "retry", 0, "call"),
    derivedId("acme/demo", "retry2", 0, "call"),
    derivedId("acme/demo", "retry", 1, "call"),
    derivedId("acme/demo", "retry", 0, "trace"),
    derivedId("acme/demoretry", "", 0, "call"),
  ];
  expect(new Set([id, ...others]).size).toBe(6);
});

test("ids have 1 to 256 characters", () => {
  expect([isCallId("a\ud800"), isCallId("a\u{1f600}\0")]).toEqual([false, true]);
  expect([isCallId(""), isCallId("x"), isCallId("x".repeat(256)), isCallId("x".repeat(257))]).toEqual([
    false,
    true,
    true,
    false,
  ]);
});
