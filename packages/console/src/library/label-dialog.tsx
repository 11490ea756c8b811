import { objAddTags, objSetAliases } from "@heddle/client/tracing";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { labelCommands } from "./library-commands.js";
import type { Version } from "./version-head.js";

interface Props {
  what: "alias" | "tag";
  projectId: string;
  version: Version;
  onChanged: () => void;
  onClose: () => void;
}

const help = {
  alias: "One version of a name has an alias at a time: it moves here. Programs read a version by it.",
  tag: "Any number of versions have a tag. Letters, digits, _ and -, with single spaces between.",
};

/** Asks for an alias or tag, and gives it to a version. */
export function LabelDialog({ what, projectId, version, onChanged, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const id = useId();
  const [text, setText] = useState("");
  const [state, setState] = useState<{ error?: unknown; isSending?: true }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Label", modal: true }, labelCommands, { close: onClose });
  const finish = () => {
    onChanged();
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const of = { object_id: version.object_id, digest: version.digest, project_id: projectId };
    const label = text.trim();
    setState({ isSending: true });
    const set =
      what === "alias"
        ? objSetAliases(session.connection, { ...of, aliases: [label] })
        : objAddTags(session.connection, { ...of, tags: [label] });
    set.then(finish, (error: unknown) => setState({ error }));
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="label-dialog" onSubmit={submit}>
        <h2 id={`${id}-title`}>
          {what === "alias" ? "Alias" : "Tag"} for <span className="given">{visibleLine(version.object_id)}</span> v
          {version.version_index}
        </h2>
        <label htmlFor={id} className="prose">
          {help[what]}
        </label>
        <input id={id} required autoComplete="off" value={text} onChange={({ target }) => setText(target.value)} />
        {state.error !== undefined && <Failure what="Not set." error={state.error} />}
        <div>
          <button className="primary" disabled={state.isSending === true}>
            {what === "alias" ? "Set the alias" : "Add the tag"}
          </button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
