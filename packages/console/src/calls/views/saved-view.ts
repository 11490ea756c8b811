import { readSearch, writeSearch } from "../../search-params.js";
import { readCallsSearch } from "../calls-search.js";
import type { CallsSearch } from "../calls-search.js";

/** The class of the objects that views are kept as. */
export const viewClass = "SavedView";
const viewType = "heddle_calls";

/** What a table shows, under a name. */
export interface SavedView {
  objectId: string;
  label: string;
  search: CallsSearch;
}

/** The object of a view. A name means one view: kept again, it is a newer version of it. */
export const objectOf = (label: string, search: CallsSearch) => ({
  object_id: `calls-view-${label.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}_.-]/gu, "_")}`.slice(0, 128),
  val: { label, view_type: viewType, definition: { search: writeSearch({ ...search }).replace(/^\?/, "") } },
});

/** The view of an object; undefined for what is none of calls, such as those of other programs. */
export function viewOf({ object_id, val }: { object_id: string; val: unknown }): SavedView | undefined {
  const { label, view_type, definition } = (val ?? {}) as Record<string, unknown>;
  const { search } = (definition ?? {}) as Record<string, unknown>;
  if (view_type !== viewType || typeof search !== "string") return undefined;
  return {
    objectId: object_id,
    label: typeof label === "string" ? label : object_id,
    search: readCallsSearch(readSearch(search)),
  };
}
