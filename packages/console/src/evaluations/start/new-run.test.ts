import { expect, test } from "vitest";
import { asObjectId } from "./new-run.js";

test("a name that people write becomes one that objects may have", () => {
  expect(asObjectId("  Short answers, v2! ")).toBe("Short-answers-v2-");
  expect(asObjectId("größe_1.0")).toBe("größe_1.0");
  expect(asObjectId("x".repeat(200))).toHaveLength(100);
});
