import { useEffect, useState } from "react";

/** Copies a text, and says for two seconds that it did, or why it could not. */
export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
  const [said, say] = useState<string>();
  useEffect(() => {
    if (said === undefined) return undefined;
    const timer = setTimeout(() => say(undefined), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () => {
    // Browsers have a clipboard for pages below https and of this machine alone.
    const copied = navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error("no clipboard"));
    copied.then(
      () => say("Copied"),
      () => say("Select and copy by hand"),
    );
  };
  return (
    <button className="plain" onClick={copy}>
      <span role="status">{said ?? label}</span>
    </button>
  );
}
