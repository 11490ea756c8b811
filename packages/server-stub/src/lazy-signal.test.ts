import { setFlagsFromString } from "node:v8";
import { expect, test } from "vitest";
import { withSignal } from "./lazy-signal.js";

test("the signal is created at its first access, and is copied when the request is spread", () => {
  let createdSignals = 0;
  const { signal } = new AbortController();
  const request = withSignal({ method: "GET" }, () => {
    createdSignals++;
    return signal;
  });
  expect(createdSignals).toBe(0);
  expect({ ...request, target: "/" }).toMatchObject({ method: "GET", target: "/", signal });
  expect(createdSignals).toBe(1);
});

test("a request has no accessor of its own: with one it would outlive its response", () => {
  setFlagsFromString("--allow-natives-syntax");
  // oxlint-disable-next-line typescript/no-implied-eval -- only text can hold a native call
  const hasPlaces = new Function("object", "return %HasFastProperties(object)") as (object: object) => boolean;
  setFlagsFromString("--no-allow-natives-syntax");
  const requests = Array.from({ length: 3 }, (_, id) => withSignal({ id }, () => AbortSignal.timeout(id)));
  expect(requests.map((request) => hasPlaces(request))).toEqual([true, true, true]);
});
