import { HeddleError } from "@heddle/errors";
import type { RawJson } from "@heddle/server-stub";
import { objectEntries } from "@heddle/exact-json";

/** Throws `unprocessable` when an object of the user, the argument `name`, sets a member that the value has anyway. */
export function checkFree(name: string, free: RawJson | undefined, taken: readonly string[]): void {
  const clash = objectEntries(free?.text ?? "{}").find(({ key }) => taken.includes(key));
  if (clash === undefined) return;
  throw new HeddleError("unprocessable", "is set by the service or by another property", { loc: [name, clash.key] });
}
