import { machineMemory } from "@heddle/concurrency";
import { expect, test } from "vitest";
import { readConfig } from "../config/config.js";
import { newestCallBytes } from "./call-memory.js";

const mebibyte = 2 ** 20;

test("the newest calls take what is set, or a share of the machine's memory within bounds, in equal parts", () => {
  const one = readConfig({});
  expect(newestCallBytes({ ...one, callMemoryBytes: 90e6 })).toBe(90e6);
  const byDefault = Math.floor(Math.min(1024 * mebibyte, Math.max(32 * mebibyte, machineMemory() / 32)));
  expect(newestCallBytes(one)).toBe(byDefault);
  const shards = ["b", "c"].map((name) => ({ name, url: `http://localhost/${name}`, database: name }));
  expect(newestCallBytes({ callMemoryBytes: 90e6, shards })).toBe(30e6);
});
