import { expect, test } from "vitest";
import { accessOf } from "./access.js";
import type { OperationEntry } from "./definition.js";

const operation = { id: "createModel" } as OperationEntry;
const inBody = { right: "write", project: { in: "body", at: ["project"], entity: "entity" } } as const;
const projectIn = (body: unknown) => accessOf(operation, inBody, { params: {}, query: {}, headers: {}, body }).project;

test("an entity and a project in the body are one project, and without the entity it is one of the caller", () => {
  const loc = ["body", "project"];
  expect(projectIn({ entity: "acme", project: "demo" })).toEqual({ id: "acme/demo", loc });
  expect(projectIn({ project: "demo" })).toEqual({ id: "demo", ofCaller: true, loc });
  // A slash does not make it a project of another entity.
  expect(projectIn({ project: "rival/demo" })).toEqual({ id: "rival/demo", ofCaller: true, loc });
});

test("a record that is named by its id has no project before it is looked up", () => {
  const access = accessOf(operation, { right: "read", project: "record" }, { params: {}, query: {}, headers: {} });
  expect(access).toEqual({ operation: "createModel", right: "read", project: "record" });
});
