import { expect, test } from "vitest";
import { idIn } from "./id-in.js";

test("a call is named by its id, the address of its page, or its ref", () => {
  const named = {
    " 0199-a ": "0199-a",
    "http://h/console/e/p/calls/0199": "0199",
    "http://h/console/e/p/calls/0199?span=a%2Fb&show=json": "a/b",
    "http://h/prefix/e/p/r/call/0199": "0199",
    "weave:///e/p/call/a%20b": "a b",
    "/calls/%zz": "%zz",
    "a/b": "a/b",
    "": "",
  };
  for (const [given, id] of Object.entries(named)) expect(idIn(given)).toBe(id);
});
