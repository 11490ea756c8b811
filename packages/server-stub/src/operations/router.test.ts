import { expect, test } from "vitest";
import { createRouter } from "./router.js";

const find = createRouter(
  [
    { method: "GET", path: "/objs", entry: "list" },
    { method: "PUT", path: "/objs/{object_id}/aliases", entry: "set" },
    { method: "POST", path: "/objs/{object_id}/aliases/remove", entry: "remove" },
    { method: "POST", path: "/objs/latest/{digest}/tags", entry: "tags" },
    { method: "DELETE", path: "/objs", entry: "delete" },
    { method: "GET", path: "/models/{model}", entry: "model" },
    { method: "GET", path: "/models/{model*}", entry: "model" },
    { method: "GET", path: "/models/{model}/history", entry: "history" },
  ],
  ["/traces"],
);

function found(path: string) {
  const match = find(path);
  return match && [Object.fromEntries(match.methods), match.params];
}

test("a path leads to its operations by method", () => {
  expect(found("/objs")).toEqual([{ GET: "list", DELETE: "delete" }, {}]);
  expect(found("/traces/objs")).toEqual([{ GET: "list", DELETE: "delete" }, {}]);
  expect(found("//traces///objs")).toEqual([{ GET: "list", DELETE: "delete" }, {}]);
});

test("a parameter takes one segment, decoded after the path was split", () => {
  expect(found("/objs/a%2Fb%20%C3%A4/aliases")).toEqual([{ PUT: "set" }, { object_id: "a/b \u00e4" }]);
  expect(found("/objs/a+b/aliases")).toEqual([{ PUT: "set" }, { object_id: "a+b" }]);
  expect(found("/obj%73/x/aliases")).toEqual([{ PUT: "set" }, { object_id: "x" }]);
  expect(found("/objs%2Fx/aliases")).toBeUndefined();
  expect(() => found("/objs/%zz/aliases")).toThrow(expect.objectContaining({ status: 400 }));
});

test("a last parameter with a star takes what is left, with its slashes", () => {
  expect(found("/models/a")).toEqual([{ GET: "model" }, { model: "a" }]);
  expect(found("/models/a%2Fb")).toEqual([{ GET: "model" }, { model: "a/b" }]);
  expect(found("/models/a/b/c%3Ad")).toEqual([{ GET: "model" }, { model: "a/b/c:d" }]);
  expect(found("/models/a/history")).toEqual([{ GET: "history" }, { model: "a" }]);
  expect(found("/models/a/b/history")).toEqual([{ GET: "model" }, { model: "a/b/history" }]);
  expect(found("/models/")).toBeUndefined();
});

test("a fixed segment wins, and the parameter is tried where it leads nowhere", () => {
  expect(found("/objs/latest/d1/tags")).toEqual([{ POST: "tags" }, { digest: "d1" }]);
  expect(found("/objs/latest/aliases")).toEqual([{ PUT: "set" }, { object_id: "latest" }]);
});

test("nothing else is known", () => {
  for (const path of ["", "/", "/objs/", "/objs/a", "/objs/a/aliases/", "/traces", "/traces/traces/objs"]) {
    expect(found(path), path).toBeUndefined();
  }
});
