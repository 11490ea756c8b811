import type { CallsSearch } from "./calls-search.js";
import { columnPaths, pinnedColumns, readWidths, writeWidths } from "./calls-search.js";
import type { CallsDialog } from "./calls-view.js";
import { ColumnsDialog } from "./columns-dialog.js";
import { ConditionDialog } from "./condition-dialog.js";
import { ViewsDialog } from "./views/views-dialog.js";

interface Props {
  dialog: CallsDialog;
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  /** Each changes the address once, and closes the dialog with it. */
  onChange: (change: Partial<CallsSearch>) => void;
  onOpen: (search: CallsSearch) => void;
  onClose: () => void;
}

/** What the address says is asked about the table. */
export function CallsDialogs({ dialog, onChange, onOpen, ...props }: Props) {
  const { projectId, search, onClose } = props;
  if (dialog === "condition") return <ConditionDialog {...props} onChange={onChange} />;
  if (dialog === "views")
    return <ViewsDialog projectId={projectId} search={search} onOpen={onOpen} onClose={onClose} />;
  return (
    <ColumnsDialog
      {...props}
      paths={columnPaths(search)}
      pinned={pinnedColumns(search)}
      widths={readWidths(search.widths)}
      onChange={(chosen, pinned, widths) =>
        onChange({ cols: chosen.join(",") || ",", pin: pinned.join(",") || ",", widths: writeWidths(widths) })
      }
    />
  );
}
