import { expect, test } from "vitest";
import { objectOf, viewOf } from "./saved-view.js";

test("a view is what was saved, whatever its name and conditions are", () => {
  const search = { op: "a&b=c", where: '[["inputs.x","=","+ %"]]', cols: "inputs.x,output" };
  const { object_id, val } = objectOf("Späte Antworten / <b>", search);
  expect(object_id).toMatch(/^[\p{L}\p{M}\p{N}_.-]{1,128}$/u);
  expect(viewOf({ object_id, val })).toEqual({ objectId: object_id, label: "Späte Antworten / <b>", search });
});

test("objects of others are none, and of a view what is not valid is left out", () => {
  for (const val of [undefined, null, "x", { view_type: "traces" }, { view_type: "heddle_calls", definition: 1 }])
    expect(viewOf({ object_id: "a", val })).toBeUndefined();
  const val = { view_type: "heddle_calls", definition: { search: "status=none&since=1h&x=y" } };
  expect(viewOf({ object_id: "a", val })).toEqual({ objectId: "a", label: "a", search: { since: "1h" } });
});
