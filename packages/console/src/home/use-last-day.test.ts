import { expect, test } from "vitest";
import { activeProjects } from "./use-last-day.js";

test("figures are asked for of projects with calls in the last day, the newest ones", () => {
  const now = Date.parse("2026-03-02T12:00:00Z");
  const project = (name: string, last?: string) => ({
    project_id: name,
    created_at: "2026-01-01T00:00:00Z",
    call_count: 1,
    running: 0,
    ...(last !== undefined && { last_started_at: last }),
  });
  const projects = [
    project("a/now", "2026-03-02T11:59:59.000001Z"),
    project("a/today", "2026-03-01T12:00:01Z"),
    project("a/old", "2026-03-01T11:59:59Z"),
    project("a/empty"),
  ];
  expect(activeProjects(projects, now)).toEqual(["a/now", "a/today"]);
  expect(activeProjects(projects, now, 1)).toEqual(["a/now"]);
});
