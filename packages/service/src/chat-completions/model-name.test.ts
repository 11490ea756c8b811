import { expect, test } from "vitest";
import { parseModelName } from "./model-name.js";

const newest = { kind: "newest" };
const step = (number: number) => ({ kind: "step", step: number });
const named = (checkpoint: object) => ({ project_id: "acme/demo", name: "agent", checkpoint });

test.each([
  ["wandb-artifact:///acme/demo/agent", named(newest)],
  ["wandb-artifact:///acme/demo/agent:step12", named(step(12))],
  ["wandb-artifact:///acme/demo/agent:latest", named(newest)],
  ["wandb-artifact:///acme/demo/agent:v3", named({ kind: "version", version: "v3" })],
  ["wandb-artifact://acme/demo/agent:step0", named(step(0))],
  ["heddle-artifact:///acme/demo/agent", named(newest)],
  ["acme/demo/agent", named(newest)],
  ["acme/demo/agent:step2", named(step(2))],
  ["acme/demo/agent@2", named(step(2))],
  ["agent", { name: "agent", checkpoint: newest }],
  ["agent@7", { name: "agent", checkpoint: step(7) }],
  ["agent:step7", { name: "agent", checkpoint: step(7) }],
])("the name %s is understood", (text, meaning) => {
  expect(parseModelName(text)).toEqual(meaning);
});

test.each([
  "",
  "acme/agent",
  "acme/demo/more/agent",
  "acme/demo/",
  "agent@-1",
  "agent:",
  "agent:step1:step2",
  "wandb-artifact:///agent",
  "https://acme/demo/agent",
])("the name %j means nothing", (text) => {
  expect(parseModelName(text)).toBeUndefined();
});
