import { callsDeleteMatching } from "@heddle/client/tracing";
import { useSession } from "../../session/session-context.js";
import { counted } from "../../ui/format.js";
import { ActionForm } from "./action-form.js";
import type { ActionProps } from "./action-props.js";

/** Deletes calls, and all below them. */
export function DeleteAction(props: ActionProps) {
  const session = useSession();
  return (
    <ActionForm
      {...props}
      title="Delete calls"
      verb={(calls) => `Delete ${calls}`}
      asksCount
      act={(calls) => callsDeleteMatching(session.connection, { project_id: props.projectId, ...calls })}
      doneWords={(calls, { num_deleted }) => `Deleted ${calls}, ${counted(num_deleted, "call")} with those below.`}
    >
      <p className="prose">The calls below them are deleted, too. There is no way back.</p>
    </ActionForm>
  );
}
