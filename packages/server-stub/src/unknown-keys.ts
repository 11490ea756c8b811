import { closestName } from "./closest-name.js";
import type { Plan } from "./json-plan.js";
import type { Detail } from "./problem.js";

/** The same details, where those about unknown keys name the key that was probably meant. */
export function withSuggestions(details: readonly Detail[], plan: Plan | undefined): Detail[] {
  return details.map((detail) => {
    if (detail.type !== "extra_forbidden") return detail;
    const names = keysAt(plan, detail.loc.slice(1, -1));
    const meant = closestName(String(detail.loc.at(-1)), names);
    return meant === undefined ? detail : { ...detail, msg: `${detail.msg}; did you mean ${meant}?` };
  });
}

/** The keys that an object of the body may have. */
function keysAt(body: Plan | undefined, steps: Detail["loc"]): string[] {
  let plan = body;
  for (const step of steps) {
    if (typeof step === "number") plan = plan?.prefix[step] ?? plan?.items;
    else plan = plan?.properties?.get(step)?.plan ?? plan?.others;
  }
  return [...(plan?.properties?.keys() ?? [])];
}
