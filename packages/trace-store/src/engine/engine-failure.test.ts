import { expect, test } from "vitest";
import { engineFailure } from "./engine-failure.js";

const refusal = (code: string, message: string) => Object.assign(new Error(message), { code, type: "SOME_TYPE" });

test.each([
  ["243", "Cannot reserve 1.00 MiB, not enough space"],
  ["75", "Cannot write to file: , errno: 28, strerror: No space left on device"],
  ["1001", "std::filesystem::filesystem_error: cannot create directories: No space left on device"],
])("error %s of a full disk asks for another try and names the disk", (code, message) => {
  expect(engineFailure(refusal(code, message))).toMatchObject({
    code: "busy",
    message: "The disk of the trace engine is full",
  });
});

test("a row that only talks about a full disk is an error of that row", () => {
  expect(engineFailure(refusal("27", "Cannot parse input: No space left on device"))).toMatchObject({ number: 27 });
});
