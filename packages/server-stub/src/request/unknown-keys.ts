import type { Plan } from "../json/plan.js";
import type { Detail } from "../problem.js";

/** The same details, where those about unknown keys name the key that was probably meant. */
export function withSuggestions(details: readonly Detail[], plan: Plan | undefined): Detail[] {
  return details.map((detail) => {
    const { loc, msg, type } = detail;
    if (type !== "extra_forbidden") return detail;
    const meant = meantBy(String(loc.at(-1)).slice(0, 64), planAt(plan, loc.slice(1, -1)));
    return meant ? { ...detail, msg: `${msg}; did you mean ${meant}?` } : detail;
  });
}

/** A key with one wrong letter, else one that begins with what was given, else the same key in an object that belongs here. */
function meantBy(key: string, at: Plan | undefined): string | undefined {
  const properties = at?.properties;
  const names = [...(properties?.keys() ?? [])];
  const given = misspellings(key);
  const [start = ""] = given;
  const holder = names.find((name) => properties?.get(name)?.plan?.properties?.has(key));
  return (
    names.find((name) => misspellings(name).some((text) => given.includes(text))) ??
    (start.length >= 3 ? names.find((name) => misspellings(name)[0]?.startsWith(start)) : undefined) ??
    (holder && `${holder}.${key}`)
  );
}

/**
 * The letters of a key, also without one of them: two keys that share such a text differ by one letter that is added, left
 * out, replaced or swapped with its neighbour.
 */
function misspellings(key: string): string[] {
  const text = key.toLowerCase().replaceAll("_", "");
  return [text, ...Array.from(text, (_, at) => text.slice(0, at) + text.slice(at + 1))];
}

function planAt(body: Plan | undefined, steps: Detail["loc"]): Plan | undefined {
  return steps.reduce<Plan | undefined>(
    (at, step) =>
      typeof step === "number" ? (at?.prefix[step] ?? at?.items) : (at?.properties?.get(step)?.plan ?? at?.others),
    body,
  );
}
