import { expect, test } from "vitest";
import { readPath, writePath } from "./path.js";

const library = "/$entity/$project/library/{-$kind}/{-$name}/{-$version}";

test("names of an address are read where a path has them, and come back as they were", () => {
  const params = { entity: "acme", project: "demo", kind: "prompts", name: "a/b %2F ü?#" };
  const address = writePath(library, params);
  expect(address).toBe("acme/demo/library/prompts/a%2Fb%20%252F%20%C3%BC%3F%23");
  expect(readPath(library, `/${address}`)).toEqual(params);
});

test("what may be left out is left out, and nothing else", () => {
  expect(writePath(library, { entity: "acme", project: "demo", kind: undefined })).toBe("acme/demo/library");
  expect(readPath(library, "/acme/demo/library/")).toEqual({ entity: "acme", project: "demo" });
  expect(readPath(library, "/acme/demo")).toBeUndefined();
  expect(readPath(library, "/acme/demo/library/a/b/c/d")).toBeUndefined();
  expect(readPath(library, "/acme/demo/calls")).toBeUndefined();
});

test("an address with what is no encoding is read as it is, and a lone surrogate is written", () => {
  expect(readPath("/$entity/$project", "/100%/%zz")).toEqual({ entity: "100%", project: "%zz" });
  expect(writePath("/$entity", { entity: "\ud800" })).toBe("%EF%BF%BD");
});
