import { expect, test } from "vitest";
import { visibleJson, visibleLine, visibleText } from "./visible.js";

test("what cannot be seen has its code, and other text is as it was", () => {
  expect(visibleText("\u001B[31mred\u0000")).toBe("⟨1B⟩[31mred⟨00⟩");
  expect(visibleText("user\u202Etxt.exe")).toBe("user⟨202E⟩txt.exe");
  expect(visibleText("日本語 عربي 👩‍👩‍👧 a\tb\nc")).toBe("日本語 عربي 👩‍👩‍👧 a\tb\nc");
  expect(visibleLine("a\r\nb\tc")).toBe("a↵b⇥c");
});

test("JSON keeps its value and every digit, in one line without anything hidden", () => {
  const text = '{\n\t"a\u202E": "\u007F\u009B31m \u{E0041} \\u001b",\r\n "n": 107505301260286111.0 }';
  const escaped = visibleJson(text);
  expect(escaped).toBe('{ "a\\u202e": "\\u007f\\u009b31m \\udb40\\udc41 \\u001b",  "n": 107505301260286111.0 }');
  expect(JSON.parse(escaped)).toEqual(JSON.parse(text));
});
