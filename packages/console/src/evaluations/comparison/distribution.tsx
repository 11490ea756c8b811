import { formatCount } from "../../ui/format.js";
import { scoreText } from "../score-text.js";

const [barWidth, height] = [5, 22];

/** How many rows are in each bin, as bars; the same in words for readers of screens. */
export function Distribution({
  name,
  edges,
  counts,
}: {
  name: string;
  edges: readonly number[];
  counts: readonly number[];
}) {
  const most = Math.max(...counts, 1);
  if (counts.length === 0) return undefined;
  const words = counts.flatMap((count, bin) =>
    count === 0 ? [] : [`${scoreText(edges[bin] ?? 0)} to ${scoreText(edges[bin + 1] ?? 0)}: ${formatCount(count)}`],
  );
  const width = Math.max(8, Math.min(barWidth * 4, 120 / counts.length));
  return (
    <svg
      className="distribution"
      role="img"
      aria-label={`Distribution of ${name}. ${words.join("; ")}`}
      width={width * counts.length}
      height={height}
    >
      <title>{words.join("\n")}</title>
      {counts.map((count, bin) => {
        const tall = count === 0 ? 0 : Math.max(1, (count / most) * height);
        // oxlint-disable-next-line react/no-array-index-key -- a bin is its place
        return <rect key={bin} x={bin * width} y={height - tall} width={width - 1} height={tall} />;
      })}
    </svg>
  );
}
