import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatTime, isStorableTime, parseTime } from "./time.js";

const nine = BigInt(Date.UTC(2026, 3, 10, 9)) * 1000n;

describe("times clients send", () => {
  test.each([
    ["2026-04-10T09:00:00Z", nine],
    ["2026-04-10T09:00:00", nine],
    ["2026-04-10 09:00", nine],
    ["2026-04-10T11:00:00+02:00", nine],
    ["2026-04-10T04:30:00-0430", nine],
    ["2026-04-10T10:00:00+01", nine],
    ["2026-04-10T09:00:00.5z", nine + 500_000n],
    ["2026-04-10T09:00:00.123456Z", nine + 123_456n],
    ["2026-04-10T09:00:00.123456999Z", nine + 123_456n],
    ["2026-04-10", nine - 9n * 3_600_000_000n],
    ["1969-12-31T23:59:59.999999Z", -1n],
    ["1900-01-01T00:00:00Z", -2_208_988_800_000_000n],
    [1_775_811_600, nine],
    [1_775_811_600.000001, nine + 1n],
    [1_775_811_600.123456, nine + 123_456n],
    ["1775811600.25", nine + 250_000n],
    [-0.000001, -1n],
    [1_775_811_600_250, nine + 250_000n],
    [1_775_811_600_250.125, nine + 250_125n],
    ["1775811600250", nine + 250_000n],
    [2e10, 20_000_000_000_000_000n],
    [20_000_000_001, 20_000_000_001_000n],
  ])("%s", (value, us) => {
    expect(parseTime(value)).toBe(us);
  });

  test.each([
    "",
    "now",
    "2026-13-01",
    "2026-02-29T00:00:00Z",
    "2026-04-10T24:00:00Z",
    "2026-04-10T09:60:00Z",
    "2026-04-10T09:00:60Z",
    "2026-04-10T09:00:00+25:00",
    "10.04.2026",
    "2026-04-10T09",
    Number.NaN,
    Infinity,
  ])("%s is none", (value) => {
    expect(parseTime(value)).toBeUndefined();
  });

  test("are storable from 1900 to 2299", () => {
    expect(storable("1900-01-01T00:00:00Z")).toBe(true);
    expect(storable("1899-12-31T23:59:59.999999Z")).toBe(false);
    expect(storable("2299-12-31T23:59:59.999999Z")).toBe(true);
    expect(storable("2300-01-01T00:00:00Z")).toBe(false);
    expect(storable("0001-01-01T00:00:00Z")).toBe(false);
  });
});

function storable(text: string): boolean {
  return isStorableTime(parseTime(text) ?? 0n);
}

test("a returned time is the stored one to the microsecond", () => {
  expect(formatTime(nine)).toBe("2026-04-10T09:00:00.000000Z");
  expect(formatTime(-1n)).toBe("1969-12-31T23:59:59.999999Z");
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 16n }), (us) => {
      expect(parseTime(formatTime(us))).toBe(us);
    }),
  );
});
