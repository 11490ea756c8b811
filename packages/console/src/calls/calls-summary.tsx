import { counted } from "../ui/format.js";
import type { PagesState } from "./call-pages.js";
import type { CallsSearch } from "./calls-search.js";

/** How many calls there are, in which order, and whether new ones are looked for. */
export function CallsSummary({
  onFacets,
  onViews,
  state: { total, count, hasBefore, hasAfter },
  isLive,
  search,
}: {
  onFacets: () => void;
  onViews: () => void;
  state: PagesState;
  isLive: boolean;
  search: CallsSearch;
}) {
  const known = hasBefore || hasAfter ? total : { value: count, exact: true };
  return (
    <p className="calls-summary">
      {known !== undefined && (
        <span title={known.exact ? "Counted" : "Estimated from the newest calls"}>
          {known.exact ? "" : "≈ "}
          {counted(known.value, "call")}
        </span>
      )}
      <span className="quiet">{search.sort === undefined ? "newest first" : "longest first"}</span>
      {isLive ? <span className="is-running">● live</span> : <span className="quiet">○ not live</span>}
      <button className="plain" onClick={onViews}>
        Views <kbd>v</kbd>
      </button>
      <button className="plain" aria-pressed={search.panel === "facets"} onClick={onFacets}>
        Facets <kbd>b</kbd>
      </button>
    </p>
  );
}
