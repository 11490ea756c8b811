import type { Plan } from "../json/plan.js";
import type { Detail } from "../problem.js";

/** The same details, where those about unknown keys name the key that was probably meant. */
export function withSuggestions(details: readonly Detail[], plan: Plan | undefined): Detail[] {
  return details.map((detail) => {
    const { loc, msg, type } = detail;
    if (type !== "extra_forbidden") return detail;
    const given = misspellings(String(loc.at(-1)).slice(0, 64));
    const meant = keysAt(plan, loc.slice(1, -1)).find((name) =>
      misspellings(name).some((text) => given.includes(text)),
    );
    return meant ? { ...detail, msg: `${msg}; did you mean ${meant}?` } : detail;
  });
}

/**
 * The letters of a key, also without one of them: two keys that share such a text differ by one letter that is added, left
 * out, replaced or swapped with its neighbour.
 */
function misspellings(key: string): string[] {
  const text = key.toLowerCase().replaceAll("_", "");
  return [text, ...Array.from(text, (_, at) => text.slice(0, at) + text.slice(at + 1))];
}

/** The keys that an object of the body may have. */
function keysAt(body: Plan | undefined, steps: Detail["loc"]): string[] {
  const plan = steps.reduce<Plan | undefined>(
    (at, step) =>
      typeof step === "number" ? (at?.prefix[step] ?? at?.items) : (at?.properties?.get(step)?.plan ?? at?.others),
    body,
  );
  return [...(plan?.properties?.keys() ?? [])];
}
