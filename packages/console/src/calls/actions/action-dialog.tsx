import { useEffect, useRef } from "react";
import { useCommands } from "../../commands/use-commands.js";
import type { ActionProps } from "./action-props.js";
import type { Action } from "./chosen.js";
import { DatasetAction } from "./dataset-action.js";
import { DeleteAction } from "./delete-action.js";
import { FeedbackAction } from "./feedback-action.js";
import { QueueAction } from "./queue-action.js";
import { TrainAction } from "./train-action.js";
import "./actions.css";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props extends ActionProps {
  action: Action;
  /** The leaves that are columns of the table. */
  paths: readonly string[];
}

/** Asks for what an action on calls needs, and does it. */
export function ActionDialog({ action, paths, ...props }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { onClose } = props;
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Action", modal: true }, dialogCommands, { close: onClose });
  return (
    <dialog ref={dialog} aria-label="Act on calls" onClose={onClose}>
      {action === "dataset" && <DatasetAction {...props} paths={paths} />}
      {action === "queue" && <QueueAction {...props} paths={paths} />}
      {action === "feedback" && <FeedbackAction {...props} />}
      {action === "train" && <TrainAction {...props} />}
      {action === "delete" && <DeleteAction {...props} />}
    </dialog>
  );
}
