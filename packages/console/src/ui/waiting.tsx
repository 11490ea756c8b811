import { useEffect, useState } from "react";

/** How long nothing is said: most responses are faster. */
const silentMs = 150;

/** Says that something is being read, once that takes noticeably long. */
export function Waiting({ what }: { what: string }) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), silentMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="waiting quiet" role="status">
      {isLong ? `${what}…` : ""}
    </p>
  );
}
