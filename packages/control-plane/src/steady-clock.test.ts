import { expect, test } from "vitest";
import { steadyClock } from "./steady-clock.js";

test("a clock that is set back or forward moves nothing", () => {
  const clocks = { wall: 1_775_811_600_000, monotonic: 50 };
  const steady = steadyClock(
    () => clocks.wall,
    () => clocks.monotonic,
  );
  const began = steady();
  expect(began).toBe(1_775_811_600_000_000n);
  for (const wall of [0, 4_000_000_000_000]) {
    clocks.wall = wall;
    clocks.monotonic += 1.5;
    expect(steady() - began).toBe(BigInt(Math.round((clocks.monotonic - 50) * 1000)));
  }
});
