import type { Loc } from "@heddle/errors";

/** Returns the location that a dotted text names: `messages.0.role`. */
export function locOf(text: string): Loc {
  return text === "" ? [] : text.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
