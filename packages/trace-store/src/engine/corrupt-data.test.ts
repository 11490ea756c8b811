import { expect, test } from "vitest";
import { corruptData } from "./corrupt-data.js";

const part = "/data/store/abc/all_1_1_0/";

test.each([
  [
    `Checksum doesn't match: (while reading from part ${part} in table tracing.calls (abc) located on disk)`,
    "the table calls, part all_1_1_0,",
  ],
  [`Cannot read: While reading or decompressing ${part}data.bin (position: 3, …)`, "the part all_1_1_0"],
])("the message names what cannot be read: %s", (message, named) => {
  expect(corruptData(40, message, undefined)?.message).toContain(`The stored data of ${named} cannot be read`);
});

test.each([
  "while reading from part /".repeat(50_000),
  `while reading from part ${"/a".repeat(100_000)}`,
  "While reading or decompressing /".repeat(50_000),
])("a message that repeats what is searched for takes no longer", (message) => {
  const began = performance.now();
  expect(corruptData(40, message, undefined)).toBeUndefined();
  expect(performance.now() - began).toBeLessThan(1000);
});
