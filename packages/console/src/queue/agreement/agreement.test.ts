import { expect, test } from "vitest";
import { agreementOf } from "./agreement.js";

/** `values` are those of annotators 0, 1, … for one call; undefined where one has not answered. */
const about = (call: string, ...values: (string | undefined)[]) =>
  values.flatMap((value, index) =>
    value === undefined ? [] : [{ about: call, field: "right", annotator: `u${index}`, value }],
  );

test("calls that one annotator answered say nothing of agreement, and the last answer of one counts", () => {
  expect(agreementOf([])).toEqual([]);
  expect(agreementOf([...about("a", "true"), ...about("a", "false")])).toEqual([
    { field: "right", calls: 0, alike: 0, alpha: undefined },
  ]);
});

test("alpha is 1 where all agree, 0 by chance, and below where they contradict", () => {
  const [same] = agreementOf([...about("a", "1", "1"), ...about("b", "2", "2")]);
  expect(same).toMatchObject({ calls: 2, alike: 2, alpha: 1 });
  const [contrary] = agreementOf([...about("a", "1", "2"), ...about("b", "2", "1")]);
  expect(contrary?.alike).toBe(0);
  expect(contrary?.alpha).toBeLessThan(0);
});

test("the example of Krippendorff for names", () => {
  // Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), C: nominal data, any number of observers, missing data.
  const rows = [
    "1 2 3 3 2 1 4 1 2 * * *",
    "1 2 3 3 2 2 4 1 2 5 * 3",
    "* 3 3 3 2 3 4 2 2 5 1 *",
    "1 2 3 3 2 4 4 1 2 5 1 *",
  ].map((row) => row.split(" ").map((value) => (value === "*" ? undefined : value)));
  const units = Array.from({ length: 12 }, (_, unit) => about(`c${unit}`, ...rows.map((row) => row[unit])));
  expect(agreementOf(units.flat())[0]?.alpha).toBeCloseTo(0.743, 3);
});
