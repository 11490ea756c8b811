import { describe, expect, it } from "vitest";
import { requireSendable } from "./message-size.js";

describe("the size of a call", () => {
  it("counts typed arrays, text, lists and maps", () => {
    const value = { tokens: new Int32Array(100), stop: ["ab", "cd"], logitBias: new Map([[1, 2]]) };
    expect(() => requireSendable(value, 700)).not.toThrow();
    expect(() => requireSendable(value, 400)).toThrow(expect.objectContaining({ code: "too_large" }));
    expect(() => requireSendable({ text: "x".repeat(1000) }, 1000)).toThrow(
      expect.objectContaining({ code: "too_large" }),
    );
    expect(() =>
      requireSendable(
        Array.from({ length: 1000 }, () => null),
        1000,
      ),
    ).toThrow(expect.objectContaining({ code: "too_large" }));
  });

  it("refuses nesting that would overflow the stack, and values that cannot be cloned", () => {
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { deep };
    expect(() => requireSendable(deep)).toThrow(expect.objectContaining({ code: "invalid" }));
    for (const schema of [() => undefined, Symbol("schema"), Promise.resolve(), new WeakMap()]) {
      expect(() => requireSendable({ schema })).toThrow(expect.objectContaining({ code: "invalid" }));
    }
  });
});
