import { expect, test } from "vitest";
import { closedSchema } from "./closed-schema.js";

test("objects that do not state additional properties have none, wherever they are in the schema", () => {
  const open = { type: "object", properties: { type: { const: { type: "object" } } } };
  const closed = { ...open, additionalProperties: false };
  expect(closedSchema(open)).toEqual(closed);
  expect(closedSchema({ anyOf: [open, { items: open }], $defs: { a: open } })).toEqual({
    anyOf: [closed, { items: closed }],
    $defs: { a: closed },
  });
  const stated = { type: "object", additionalProperties: open };
  expect(closedSchema(stated)).toEqual({ type: "object", additionalProperties: closed });
  expect(closedSchema({ enum: [open], default: open })).toEqual({ enum: [open], default: open });
  expect(closedSchema(true)).toBe(true);
});
