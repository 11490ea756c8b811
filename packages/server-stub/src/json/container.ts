import type { Plan } from "./plan.js";

/** An array or an object of which a part is read. */
export class Container {
  readonly plan: Plan | undefined;
  readonly isLong: boolean;
  /** Of an object. */
  readonly members: Record<string, unknown> | undefined;
  /** Of an array. */
  readonly items: unknown[] | undefined;
  /** Of the member that is read. */
  key = "";
  /** While an item of a lenient list is read: where it begins, and how many mistakes were known there. */
  item: { at: number; mistakes: number } | undefined;

  /** `isLong`: each item allows for more values. */
  constructor(plan: Plan | undefined, isObject: boolean, isLong: boolean) {
    this.plan = plan;
    this.isLong = isLong;
    this.members = isObject ? {} : undefined;
    this.items = isObject ? undefined : [];
  }

  add(value: unknown): void {
    if (this.members === undefined) this.items?.push(value);
    else set(this.members, this.key, value);
  }

  /** The value, with defaults for what is absent. */
  complete(): unknown {
    const { members, plan } = this;
    if (members === undefined) return this.items;
    if (plan === undefined) return members;
    for (const [key, value] of plan.defaults) {
      if (!Object.hasOwn(members, key)) members[key] = typeof value === "object" ? structuredClone(value) : value;
    }
    return members;
  }
}

/** Assigns an own property whatever its name: `__proto__` is a key like any other. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}
