/** As `PlanEntry` of the server stub: how to read one value of a JSON body. */
export interface PlanEntry {
  raw?: string[];
  properties?: Record<string, number>;
  keepNull?: string[];
  defaults?: Record<string, unknown>;
  others?: "drop" | "keep" | "refuse" | number;
  items?: number;
  prefix?: number[];
  lenient?: string;
  maxItems?: number;
  exactIntegers?: true;
}

/** The value is read without a plan. */
export const noPlan = -1;

/** The entries without those that have no effect and without repetitions, and the new index of each. */
export function compact(all: readonly PlanEntry[]): { entries: PlanEntry[]; indexOf: (plan: number) => number } {
  let target = all.map((_, plan) => plan);
  const follow = (plan: number) => target[plan] ?? noPlan;
  for (let before = ""; before !== target.join();) {
    before = target.join();
    const first = new Map<string, number>();
    target = all.map((entry, plan) => {
      const text = JSON.stringify(redirect(entry, follow));
      if (idleEntries.has(text)) return noPlan;
      if (!first.has(text)) first.set(text, plan);
      return first.get(text) ?? noPlan;
    });
  }
  const kept = [...new Set(target)].filter((plan) => plan !== noPlan).toSorted((a, b) => a - b);
  const indexOf = (plan: number) => kept.indexOf(follow(plan));
  return { entries: kept.map((plan) => redirect(all[plan] ?? {}, indexOf)), indexOf };
}

/** Whether a body that the plan reads can differ after `JSON.parse` and `JSON.stringify`: free JSON, exact integers. */
export function isLossy(entries: readonly PlanEntry[], plan: number): boolean {
  const reached = new Set([plan]);
  for (const index of reached) {
    const { raw, exactIntegers, properties, others, items, prefix } = entries[index] ?? {};
    if (raw !== undefined || exactIntegers === true) return true;
    const next = [...Object.values(properties ?? {}), others, items, ...(prefix ?? [])];
    for (const child of next) if (typeof child === "number") reached.add(child);
  }
  return false;
}

/** Entries that have no effect. */
const idleEntries = new Set(["{}", '{"items":-1}', '{"others":"keep"}', '{"others":"keep","items":-1}']);

function redirect(entry: PlanEntry, to: (plan: number) => number): PlanEntry {
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
export function toOthers(plan: number): "keep" | number {
  return plan === noPlan ? "keep" : plan;
}
