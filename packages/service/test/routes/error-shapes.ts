import { expect } from "vitest";
import { routes } from "../../src/boot/routes.js";

/** The reason in the error body of a route; fails for a body of another shape. */
export function reasonOf(route: keyof typeof routes, status: number, text: string): string {
  expect(status).toBeGreaterThanOrEqual(400);
  switch (routes[route].errors) {
    case "graphql": {
      const { errors, ...rest } = JSON.parse(text) as { errors: { message: string }[] };
      expect([errors.length, rest]).toEqual([1, {}]);
      return errors[0]?.message ?? "";
    }
    case "object":
      return (JSON.parse(text) as { error: string }).error;
    default:
      // A path that is not a link any more belongs to the interfaces.
      if (isLink(route) && text.startsWith("{")) return (JSON.parse(text) as { reason: string }).reason;
      expect(text).toMatch(/^[^\n]+\n$/);
      return text;
  }
}

const isLink = (route: keyof typeof routes): boolean => route === "weaveLinks" || route === "wandbLinks";
