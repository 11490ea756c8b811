import { counted, formatCount } from "../ui/format.js";
import type { Alignment } from "./alignment.js";

interface Props {
  alignment: Alignment;
  isOnly: boolean;
  onOnly: () => void;
}

/** How many calls differ, how many rows are alike, and what the outlines lack. */
export function ComparisonSummary({ alignment, isOnly, onOnly }: Props) {
  const { counts, before, after } = alignment;
  const all = counts.changed + counts.added + counts.removed;
  const cut = [before, after].filter(({ data }) => !data.complete);
  return (
    <p className="trace-summary quiet">
      <span role="status">
        {all === 0
          ? "No call differs"
          : [
              counts.changed > 0 && `≠ ${counted(counts.changed, "call differs", "calls differ")}`,
              counts.removed > 0 && `− ${formatCount(counts.removed)} only in A`,
              counts.added > 0 && `+ ${formatCount(counts.added)} only in B`,
            ]
              .filter((part) => part !== false)
              .join(" · ")}
        {cut.length > 0 && ` · of the first ${cut.map((outline) => counted(outline.length, "call")).join(" and ")}`}
      </span>
      {all > 0 && (
        <span className="compared-keys">
          <kbd>n</kbd> next <kbd>N</kbd> previous
        </span>
      )}
      <button className="plain" aria-pressed={isOnly} onClick={onOnly}>
        Only differences <kbd>o</kbd>
      </button>
    </p>
  );
}
