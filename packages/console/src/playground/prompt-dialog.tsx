import { objCreate } from "@heddle/client/tracing";
import { Link } from "../router/routing.js";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { linkToLibrary } from "../library/library-link.js";
import type { Draft } from "./draft.js";
import { promptDialogCommands } from "./play-commands.js";
import { withBody } from "./runs.js";

interface Props {
  projectId: string;
  draft: Draft;
  onClose: () => void;
}

/** Publishes the messages as a version of a prompt, in their exact text. */
export function PromptDialog({ projectId, draft, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const id = useId();
  const [name, setName] = useState("");
  const [state, setState] = useState<{ error?: unknown; isSending?: true; digest?: string }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Save as a prompt", modal: true }, promptDialogCommands, { close: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setState({ isSending: true });
    const obj = { project_id: projectId, object_id: name.trim() };
    const known = JSON.stringify({
      _type: "MessagesPrompt",
      _class_name: "MessagesPrompt",
      _bases: ["Prompt", "Object", "BaseModel"],
      name: name.trim(),
    });
    const val = `${known.slice(0, -1)},"messages":${draft.get("messages") ?? "[]"}}`;
    const body = `{"obj":${JSON.stringify(obj).slice(0, -1)},"val":${val}}}`;
    objCreate(withBody(session.connection, body), { obj: { ...obj, val: {} } }).then(
      ({ digest }) => setState({ digest }),
      (error: unknown) => setState({ error }),
    );
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="action-form" onSubmit={submit}>
        <h2 id={`${id}-title`}>Save as a prompt</h2>
        {state.digest === undefined ? (
          <label>
            Name: a prompt that there is gets a version{" "}
            <input
              required
              maxLength={128}
              autoComplete="off"
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          </label>
        ) : (
          <p role="status">
            Saved.{" "}
            <Link {...linkToLibrary(projectId, "prompts", name.trim(), state.digest)}>Open it in the library</Link>
          </p>
        )}
        {state.error !== undefined && <Failure what="The prompt was not saved." error={state.error} />}
        <div>
          {state.digest === undefined && (
            <button className="primary" disabled={state.isSending === true}>
              Save
            </button>
          )}{" "}
          <button type="button" onClick={onClose}>
            {state.digest === undefined ? "Cancel" : "Close"}
          </button>
        </div>
      </form>
    </dialog>
  );
}
