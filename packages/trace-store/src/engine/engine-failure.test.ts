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

test("stored data that cannot be read is corrupt and names the table and the part, not the path", () => {
  const [path, name] = ["/data/store/0b1/0b10e473/202602_2_2_0", "202602_2_2_0"];
  const block = `Checksum doesn't match: corrupted data. While reading or decompressing ${path}/data.bin (position: 340, typename: X): `;
  const reading = `(while reading column id): (while reading from part ${path}/ in table trace.calls (0b10e473) located on disk default)`;
  expect(engineFailure(refusal("40", block + reading))).toMatchObject({
    code: "corrupt",
    message: `The stored data of the table calls, part ${name}, cannot be read: an operator has to restore it`,
  });
  expect(engineFailure(refusal("40", block))).toMatchObject({
    code: "corrupt",
    message: `The stored data of the part ${name} cannot be read: an operator has to restore it`,
  });
  expect(engineFailure(refusal("27", "Cannot parse input (while reading from part x"))).toMatchObject({
    number: 27,
  });
});
