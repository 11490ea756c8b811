/** As `PlanEntry` of the server stub: how to read one place of a JSON body. */
export interface PlanEntry {
  raw?: string[];
  properties?: Record<string, number>;
  keepNull?: string[];
  defaults?: Record<string, unknown>;
  others?: "drop" | "keep" | number;
  items?: number;
  prefix?: number[];
  lenient?: string;
  maxItems?: number;
}

/** Nothing needs to be known to read this place. */
export const noPlan = -1;

/** The entries without those that say nothing and without repetitions, and where each place went. */
export function compact(all: readonly PlanEntry[]): { entries: PlanEntry[]; indexOf: (place: number) => number } {
  let target = all.map((_, place) => place);
  const follow = (place: number) => target[place] ?? noPlan;
  for (let before = ""; before !== target.join();) {
    before = target.join();
    const first = new Map<string, number>();
    target = all.map((entry, place) => {
      const text = JSON.stringify(redirect(entry, follow));
      if (idleEntries.has(text)) return noPlan;
      if (!first.has(text)) first.set(text, place);
      return first.get(text) ?? noPlan;
    });
  }
  const kept = [...new Set(target)].filter((place) => place !== noPlan).toSorted((a, b) => a - b);
  const indexOf = (place: number) => kept.indexOf(follow(place));
  return { entries: kept.map((place) => redirect(all[place] ?? {}, indexOf)), indexOf };
}

/** Entries that read a place just as it would be read without them. */
const idleEntries = new Set(["{}", '{"items":-1}', '{"others":"keep"}', '{"others":"keep","items":-1}']);

function redirect(entry: PlanEntry, to: (place: number) => number): PlanEntry {
  const { properties, others, items, prefix } = entry;
  return {
    ...entry,
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([key, at]) => [key, to(at)])) }),
    ...(others !== undefined && { others: typeof others === "number" ? toOthers(to(others)) : others }),
    ...(items !== undefined && { items: to(items) }),
    ...(prefix && { prefix: prefix.map(to) }),
  };
}

/** A map whose values need no plan keeps them as they are. */
export function toOthers(place: number): "keep" | number {
  return place === noPlan ? "keep" : place;
}
