import { expect, test } from "vitest";
import { engineArguments } from "./arguments.js";

function valueOf(name: string, memoryBytes: number): number {
  const argument = engineArguments("/data", memoryBytes).find((text) => text.startsWith(`--${name}=`));
  return Number(argument?.split("=")[1]);
}

test("the engine accounts for as much as fits into the host's memory", () => {
  expect(valueOf("max_server_memory_usage", 1_900_000_000)).toBe(1_000_000_000);
  expect(valueOf("max_bytes_before_external_sort", 1_900_000_000)).toBe(250_000_000);
});

test("on a small machine the engine still gets what it needs to work", () => {
  expect(valueOf("max_server_memory_usage", 400_000_000)).toBe(300_000_000);
});

test("backups go into the data directory only", () => {
  expect(engineArguments("/data", 1e9)).toContain("--backups.allowed_path=/data/backups");
});
