import type { SortBy } from "@heddle/client/tracing";
import type { CallSelection } from "../calls-search.js";

/** What every action on calls of the table is given. */
export interface ActionProps {
  projectId: string;
  selection: CallSelection;
  /** Which of too many are the first. */
  order: SortBy[];
  onDone: () => void;
  onClose: () => void;
}
