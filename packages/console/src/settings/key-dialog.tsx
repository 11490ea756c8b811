import { keyCreate, keyRevoke, keyUpdate } from "@heddle/client/tracing";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent, ReactNode } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useMe } from "../data/use-me.js";
import { useSession } from "../session/session-context.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { dialogCommands } from "./settings-commands.js";
import type { Key } from "./use-keys.js";

/** What a dialog asks for. */
export type Asked = { what: "create" } | { what: "rename" | "revoke"; key: Key };

interface Props {
  asked: Asked;
  onChanged: () => void;
  onClose: () => void;
}

const titles = { create: "Make a key", rename: "Rename the key", revoke: "Revoke the key" };

/** Makes, renames or revokes a key. What changes rights asks for the key of the reader: a session alone may not. */
export function KeyDialog({ asked, onChanged, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const me = useMe();
  const id = useId();
  const [state, setState] = useState<{ error?: unknown; isSending?: true; secret?: string }>({});
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Key", modal: true }, dialogCommands, { close: onClose });
  const send = async (form: FormData): Promise<string | undefined> => {
    const text = (name: string) => {
      const value = form.get(name);
      return typeof value === "string" ? value.trim() : "";
    };
    if (asked.what === "rename") {
      await keyUpdate(session.connection, { key_id: asked.key.id, name: text("name") });
      return undefined;
    }
    const confirmed = { confirm_api_key: text("confirm") };
    if (asked.what === "revoke") {
      await keyRevoke(session.connection, { key_id: asked.key.id, ...confirmed });
      return undefined;
    }
    const projects = text("projects")
      .split(/[\s,]+/)
      .filter(Boolean);
    const entity = text("entity");
    const { secret } = await keyCreate(session.connection, {
      user: text("user"),
      name: text("name"),
      role: text("role") as Key["role"],
      ...(projects.length > 0 && { projects }),
      ...(entity !== "" && entity !== me.data?.entity && { entity }),
      ...confirmed,
    });
    return secret;
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setState({ isSending: true });
    try {
      const secret = await send(new FormData(event.currentTarget));
      onChanged();
      if (secret === undefined) onClose();
      else setState({ secret });
    } catch (error) {
      setState({ error });
    }
  };
  const { secret, error, isSending } = state;
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="key-dialog" onSubmit={(event) => void submit(event)}>
        <h2 id={`${id}-title`}>{titles[asked.what]}</h2>
        {secret !== undefined ? (
          <Secret secret={secret} onClose={onClose} />
        ) : (
          <>
            {asked.what === "create" && <NewKey entity={me.data?.entity ?? ""} isOwner={me.data?.owner === true} />}
            {asked.what !== "create" && (
              <p>
                <span className="mono">{asked.key.prefix}…</span> of{" "}
                <span className="given">{visibleLine(asked.key.user.name)}</span>
              </p>
            )}
            {asked.what === "rename" && (
              <Field label="What it is for">
                <input name="name" maxLength={256} defaultValue={asked.key.name} autoComplete="off" />
              </Field>
            )}
            {asked.what === "revoke" && (
              <p className="is-error">
                ✗ It is refused from then on, for good: requests and sessions of it are cut off, and its jobs cancelled.
              </p>
            )}
            {asked.what !== "rename" && (
              <Field label="Your own key, to confirm that it is you">
                <input
                  name="confirm"
                  type="password"
                  className="mono"
                  required
                  autoComplete="current-password"
                  spellCheck={false}
                />
              </Field>
            )}
            {error !== undefined && <Failure what="Nothing was changed." error={error} />}
            <div>
              <button className="primary" disabled={isSending === true}>
                {titles[asked.what]}
              </button>{" "}
              <button type="button" onClick={onClose}>
                Cancel
              </button>
            </div>
          </>
        )}
      </form>
    </dialog>
  );
}

const Field = ({ label, children }: { label: string; children: ReactNode }) => (
  <label className="key-field">
    {label}
    {children}
  </label>
);

function NewKey({ entity, isOwner }: { entity: string; isOwner: boolean }) {
  return (
    <>
      <Field label="User, whom its calls and feedback name">
        <input name="user" required maxLength={256} autoComplete="off" />
      </Field>
      <Field label="What it is for">
        <input name="name" maxLength={256} autoComplete="off" />
      </Field>
      <Field label="May">
        <select name="role" defaultValue="write">
          <option value="read">read</option>
          <option value="write">read and write</option>
          <option value="admin">do everything</option>
        </select>
      </Field>
      {isOwner && (
        <Field label="Entity">
          <input name="entity" required defaultValue={entity} autoComplete="off" />
        </Field>
      )}
      <Field label="Only in these projects, separated by spaces; without any in all">
        <input name="projects" autoComplete="off" />
      </Field>
    </>
  );
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <>
      <p>The key is shown this once; the service does not keep it.</p>
      <p className="key-secret">
        <code>{secret}</code> <CopyButton text={() => secret} />
      </p>
      <div>
        <button type="button" className="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  );
}
