import { expect, test } from "vitest";
import { TailPlaces } from "./tail-places.js";

const places = (tails: TailPlaces, key: string) => {
  let taken = 0;
  for (;;) {
    try {
      tails.take({ key, entity: "acme" });
    } catch (error) {
      expect(error).toMatchObject({ code: "rate_limited" });
      return taken;
    }
    taken += 1;
  }
};

test.each([1, 2, 3, 5, 20])("the tails of a key at %i replicas are its share within a factor of two", (replicas) => {
  const share = places(new TailPlaces(), "ann");
  const each = Array.from({ length: replicas }, () => places(new TailPlaces(() => replicas), "ann"));
  const all = each.reduce((sum, count) => sum + count, 0);
  expect(all).toBeGreaterThanOrEqual(share);
  expect(all).toBeLessThanOrEqual(2 * share + replicas - 1);
});

test("a place that is given back can be taken again", () => {
  const tails = new TailPlaces(() => 3);
  const back = tails.take({ key: "ann", entity: "acme" });
  const left = places(tails, "ann");
  back();
  expect(places(tails, "ann")).toBe(1);
  expect(left).toBeGreaterThan(0);
});
