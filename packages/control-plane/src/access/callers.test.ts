import { expect, test } from "vitest";
import { callerMay } from "./callers.js";
import type { Caller } from "./callers.js";

const key: Caller = { key_id: "k", user_id: "1", user_name: "ana", entity: "acme", role: "write", owner: false };

test("a key reaches the projects of its entity, up to its role", () => {
  expect(callerMay(key, "acme", "demo", "read")).toBe(true);
  expect(callerMay(key, "acme", "demo", "write")).toBe(true);
  expect(callerMay(key, "acme", "demo", "admin")).toBe(false);
  expect(callerMay({ ...key, role: "read" }, "acme", "demo", "write")).toBe(false);
  expect(callerMay(key, "rival", "demo", "read")).toBe(false);
});

test("a key limited to projects reaches no other", () => {
  expect(callerMay({ ...key, projects: ["demo"] }, "acme", "demo", "write")).toBe(true);
  expect(callerMay({ ...key, projects: ["demo"] }, "acme", "other", "read")).toBe(false);
});

test("the owner key reaches everything", () => {
  expect(callerMay({ ...key, role: "admin", owner: true }, "rival", "demo", "admin")).toBe(true);
});
