import { readCallsSearch } from "../calls/calls-search.js";
import type { CallsSearch } from "../calls/calls-search.js";
import { readCallsView } from "../calls/calls-view.js";
import type { CallsView } from "../calls/calls-view.js";
import { detailViews } from "./detail-view.js";
import type { DetailView } from "./detail-view.js";

/** What an address says of a call: the table that it was opened from, the span, how that is shown and what is found in it. */
export interface CallSearch extends CallsSearch, Pick<CallsView, "act"> {
  span?: string;
  show?: DetailView;
  find?: string;
  /** What is looked for in the values of the span. */
  words?: string;
  /** The part of the time that is shown, as `readWindow` reads it. */
  zoom?: string;
}

export function readCallSearch(given: Record<string, unknown>): CallSearch {
  const { span, find, words, zoom } = given;
  const show = detailViews.find((known) => known === given["show"]);
  return {
    ...readCallsSearch(given),
    ...(typeof span === "string" && { span }),
    ...(show !== undefined && { show }),
    ...(typeof find === "string" && find !== "" && { find: find.slice(0, 1000) }),
    ...(typeof words === "string" && words !== "" && { words: words.slice(0, 1000) }),
    ...(typeof zoom === "string" && zoom !== "" && { zoom: zoom.slice(0, 40) }),
    ...readCallsView({ act: given["act"] }),
  };
}
