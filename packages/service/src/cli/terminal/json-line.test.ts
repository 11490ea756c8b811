import { expect, test } from "vitest";
import { jsonLine } from "./json-line.js";

/** As the client has what was asked for with `raw: true`. */
class RawJson {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

test("recorded JSON keeps its digits, and a call is one line", () => {
  const inputs = new RawJson('{"n": 107505301260286111,\n "price": 1.0, "s": "\u202E"}');
  expect(jsonLine({ id: "a\u007F", inputs, none: undefined, list: [null, { toJSON: 1 }] })).toBe(
    '{"id":"a\\u007f","inputs":{"n": 107505301260286111,  "price": 1.0, "s": "\\u202e"},"list":[null,{"toJSON":1}]}\n',
  );
});
