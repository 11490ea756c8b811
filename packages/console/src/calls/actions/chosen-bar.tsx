import { useReadOnlyReason } from "../../data/use-read-only.js";
import { counted } from "../../ui/format.js";
import type { Action, Chosen } from "./chosen.js";

interface Props {
  chosen: Chosen;
  onAct: (action: Action) => void;
  /** Absent where not two are chosen. */
  onCompare: (() => void) | undefined;
  onAll: () => void;
  onClear: () => void;
}

const buttons = [
  ["dataset", "Add to a dataset", "d"],
  ["queue", "Queue", "q"],
  ["feedback", "Give feedback", "f"],
  ["train", "Train", "t"],
  ["delete", "Delete", "Delete"],
] as const;

/** What a job would be trained on may be looked at by those who cannot start one. */
const changes = (action: Action): boolean => action !== "train";

/** How many calls are chosen, and what can be done with them. */
export function ChosenBar({ chosen, onAct, onCompare, onAll, onClear }: Props) {
  const readOnly = useReadOnlyReason();
  return (
    <div className="chosen-bar" role="group" aria-label="Chosen calls">
      <span role="status">{chosen === "all" ? "All that match" : counted(chosen.length, "call")} chosen</span>
      {buttons.map(([action, title, key]) => (
        <button
          key={action}
          disabled={changes(action) && readOnly !== undefined}
          title={readOnly}
          onClick={() => onAct(action)}
        >
          {title} <kbd>{key}</kbd>
        </button>
      ))}
      {onCompare !== undefined && (
        <button onClick={onCompare}>
          Compare <kbd>=</kbd>
        </button>
      )}
      {chosen !== "all" && (
        <button className="plain" onClick={onAll}>
          All that match <kbd>*</kbd>
        </button>
      )}
      <button className="plain" onClick={onClear}>
        None <kbd>Esc</kbd>
      </button>
      {readOnly !== undefined && <span className="quiet">{readOnly}</span>}
    </div>
  );
}
