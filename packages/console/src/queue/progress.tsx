import { formatCount } from "../ui/format.js";

/** How far something is: a bar, and the figures. */
export function Progress({ done, total }: { done: number; total: number }) {
  return (
    <span className="progress">
      <progress max={Math.max(1, total)} value={done} aria-label={`${done} of ${total} done`} />
      {formatCount(done)} of {formatCount(total)}
    </span>
  );
}
