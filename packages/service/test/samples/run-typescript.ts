import { createInterface } from "node:readline";
import { inspect } from "node:util";
import type { Outcome } from "./languages.js";

// Imports each module that a line of the input names, and writes a line with what came of it.

let outcome: Outcome = { statuses: [], output: "" };
const { fetch } = globalThis;
globalThis.fetch = async (...request) => {
  const response = await fetch(...request);
  outcome.statuses.push(response.status);
  return response;
};
console.log = (...values: unknown[]) => {
  outcome.output += `${values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ")}\n`;
};

for await (const file of createInterface({ input: process.stdin })) {
  outcome = { statuses: [], output: "" };
  try {
    await import(file);
  } catch (error) {
    outcome.error = String(error);
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
