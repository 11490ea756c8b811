import { expect, test } from "vitest";
import { strftime } from "./strftime.js";

test("dates are written as Python writes them", () => {
  const evening = new Date(2024, 11, 5, 19, 4, 9);
  expect(strftime(evening, "%A, %a %-d %B %b %Y (%y), %m/%d, day %j")).toBe(
    "Thursday, Thu 5 December Dec 2024 (24), 12/05, day 340",
  );
  expect(strftime(evening, "%H:%M:%S, %I %p, %-I")).toBe("19:04:09, 07 PM, 7");
  expect(strftime(new Date(2024, 0, 1, 0, 0), "%I %p %j %-j")).toBe("12 AM 001 1");
  expect(strftime(evening, "100%% %q %")).toBe("100% %q %");
});
