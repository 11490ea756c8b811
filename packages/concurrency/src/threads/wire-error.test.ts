import { expect, test } from "vitest";
import { HeddleError } from "@heddle/errors";
import { fromWireError, toWireError } from "./wire-error.js";

const received = (error: unknown) => fromWireError(structuredClone(toWireError(error)));

test("an error keeps its code, message, location and details in another process", () => {
  const sent = {
    code: "corrupt",
    message: "the checkpoint is corrupt",
    loc: ["weights", "checkpoint"],
    details: { file: "model.safetensors", tensor: "lm_head.weight" },
  } as const;
  const error = received(new HeddleError(sent.code, sent.message, sent));
  expect(error).toBeInstanceOf(HeddleError);
  expect(error).toMatchObject(sent);
  expect(received(new HeddleError("busy", "try again"))).toMatchObject({ loc: undefined, details: undefined });
});

test("a failed allocation is too large, whatever threw it; any other defect has failed", () => {
  for (const error of [new RangeError("Array buffer allocation failed"), new HeddleError("failed", "std::bad_alloc")]) {
    expect(received(error).code).toBe("too_large");
  }
  expect(received(new TypeError("x is undefined"))).toMatchObject({ code: "failed", message: "x is undefined" });
});
