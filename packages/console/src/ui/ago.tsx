import { formatAgo } from "./format.js";
import { useNow } from "./use-now.js";

/** How long ago something was; the exact time, as it was sent, is in its title. */
export function Ago({ time }: { time: string }) {
  return (
    <time dateTime={time} title={time}>
      {formatAgo(Date.parse(time), useNow())}
    </time>
  );
}
