import { partsOf } from "./command.js";

const symbols: Record<string, string> = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
};

/** `Shift+ArrowDown` → `Shift+↓`. */
function nameOf(key: string): string {
  const names = key.split("+");
  return key === "+" ? key : names.map((name) => symbols[name] ?? name).join("+");
}

/** Keys as they are shown: `g h` as two, `Ctrl+k` as one. */
export function Keys({ keys }: { keys: readonly string[] }) {
  return keys.map((key, at) => (
    <span key={key}>
      {at > 0 && <span className="quiet"> or </span>}
      {partsOf(key).map((part, index) => (
        // Parts of one key have no other name.
        // oxlint-disable-next-line react/no-array-index-key
        <kbd key={index}>{nameOf(part)}</kbd>
      ))}
    </span>
  ));
}
