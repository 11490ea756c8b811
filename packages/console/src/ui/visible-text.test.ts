import { expect, test } from "vitest";
import { visibleLine, visibleText } from "./visible-text.js";

test("what cannot be seen has its code, and other text is as it was", () => {
  expect(visibleText("\u001B[31mred\u0000")).toBe("⟨1B⟩[31mred⟨00⟩");
  expect(visibleText("user\u202Etxt.exe")).toBe("user⟨202E⟩txt.exe");
  expect(visibleText("日本語 عربي 👩‍👩‍👧 a\tb\nc")).toBe("日本語 عربي 👩‍👩‍👧 a\tb\nc");
  expect(visibleLine("a\r\nb\tc")).toBe("a↵b⇥c");
});
