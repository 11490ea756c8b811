import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../config/config.js";
import { memoryAccount, serviceMemoryBytes } from "./memory-account.js";

const path = join(import.meta.dirname, "../../../docs/guides/operating.md");
const [begin, end] = ["<!-- memory -->\n", "<!-- end of memory -->"];
const megabytes = (bytes: number) => `${Math.round(bytes / 1e6).toLocaleString("en")} MB`;

test("the guide has the sum of the memory as the service accounts for it: run with -u to write it", async () => {
  const guide = readFileSync(path, "utf8");
  const [from, to] = [guide.indexOf(begin) + begin.length, guide.indexOf(end)];
  expect(to).toBeGreaterThan(from);
  const config = readConfig({});
  const rows = [
    ...memoryAccount.map(({ part, bound, bytes }) => `| ${part} | ${bound} | ${megabytes(bytes(config))} |`),
    `| all together | | ${megabytes(serviceMemoryBytes(config))} |`,
  ];
  const table = ["| Part of the service process | Bound | By default |", "| --- | --- | ---: |", ...rows].join("\n");
  await expect(`${guide.slice(0, from)}\n${table}\n\n${guide.slice(to)}`).toMatchFileSnapshot(path);
});

test("every setting of memory and concurrency counts", () => {
  const usual = serviceMemoryBytes(readConfig({}));
  for (const [name, value] of [
    ["HEDDLE_BODY_MEMORY", "1GB"],
    ["HEDDLE_WORKING_MEMORY", "1GB"],
    ["HEDDLE_TRAINING_CONCURRENCY", "8"],
    ["HEDDLE_JOB_CONCURRENCY", "64"],
    ["HEDDLE_EVALUATION_CONCURRENCY", "64"],
  ] as const) {
    expect(serviceMemoryBytes(readConfig({ [name]: value })), name).toBeGreaterThan(usual);
  }
});
