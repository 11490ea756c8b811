import { selectionOf } from "../calls-search.js";
import type { CallSelection, CallsSearch } from "../calls-search.js";

export const actions = ["dataset", "queue", "feedback", "train", "delete"] as const;
export type Action = (typeof actions)[number];

/** `all`: all that match, also those that are not loaded. */
export type Chosen = "all" | readonly string[];

/** The most calls of an address that are chosen one by one. */
const mostIds = 100;
const all = "*";

/** What `call-1,call-2` or `*` says. */
export function readChosen(text = ""): Chosen {
  if (text === all) return "all";
  return text
    .split(",")
    .flatMap((part) => decoded(part))
    .filter(Boolean)
    .slice(0, mostIds);
}

/** The text that {@link readChosen} reads; undefined where nothing is chosen. */
export function writeChosen(chosen: Chosen): string | undefined {
  if (chosen === "all") return all;
  return chosen.length === 0 ? undefined : chosen.map((id) => encodeURIComponent(id)).join(",");
}

export const isChosen = (chosen: Chosen, id: string): boolean => chosen === "all" || chosen.includes(id);

/** With the call, or without it if it was among them; undefined where too many are chosen. */
export function toggled(chosen: Chosen, id: string): Chosen | undefined {
  if (chosen === "all") return [id];
  if (chosen.includes(id)) return chosen.filter((other) => other !== id);
  return chosen.length < mostIds ? [...chosen, id] : undefined;
}

/** The calls of the API. */
export const chosenSelection = (chosen: Chosen, search: CallsSearch, openedAt: number): CallSelection =>
  chosen === "all" ? selectionOf(search, openedAt) : { filter: { call_ids: [...chosen] } };

function decoded(part: string): string[] {
  try {
    return [decodeURIComponent(part)];
  } catch {
    return [];
  }
}
