import { objCreate, objDelete } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { useReadOnlyReason } from "../../data/use-read-only.js";
import { useSession } from "../../session/session-context.js";
import { Failure } from "../../ui/failure.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import type { CallsSearch } from "../calls-search.js";
import { describeConditions } from "../conditions.js";
import { useUsersOf } from "../facets/use-facets.js";
import { objectOf, viewClass } from "./saved-view.js";
import { useViews, viewsKey } from "./use-views.js";
import "./views.css";

const viewsCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props {
  projectId: string;
  search: CallsSearch;
  onOpen: (search: CallsSearch) => void;
  onClose: () => void;
}

/** The views of the project: conditions, order and columns under a name, for everybody who may read it. */
export function ViewsDialog({ projectId, search, onOpen, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const session = useSession();
  const client = useQueryClient();
  const readOnly = useReadOnlyReason();
  const views = useViews(projectId);
  const users = useUsersOf(projectId, views.data?.map((view) => view.search) ?? []);
  const [label, setLabel] = useState("");
  const [failed, setFailed] = useState<unknown>();
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Views", modal: true }, viewsCommands, { close: onClose });
  const change = async (write: Promise<unknown>) => {
    setFailed(undefined);
    try {
      await write;
      setLabel("");
    } catch (error) {
      setFailed(error);
    }
    await client.invalidateQueries({ queryKey: viewsKey(projectId) });
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    const obj = { project_id: projectId, builtin_object_class: viewClass, ...objectOf(label.trim(), search) };
    void change(objCreate(session.connection, { obj }));
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <div className="views">
        <h2 id={`${id}-title`}>Views</h2>
        {views.error !== null && (
          <Failure what="The views cannot be read." error={views.error} onRetry={() => views.refetch()} />
        )}
        {views.data === undefined && views.error === null && <Waiting what="Loading views" />}
        {views.data?.length === 0 && <p className="quiet">There are none. Save what the table shows as the first.</p>}
        <ul>
          {views.data?.map((view) => (
            <li key={view.objectId}>
              <button onClick={() => onOpen(view.search)}>
                <span className="given cut">{visibleLine(view.label)}</span>
                <span className="quiet cut">{wordsOf(view.search, users)}</span>
              </button>
              <button
                className="plain"
                disabled={readOnly !== undefined}
                title={readOnly}
                aria-label={`Delete the view ${visibleLine(view.label)}`}
                onClick={() =>
                  void change(objDelete(session.connection, { project_id: projectId, object_id: view.objectId }))
                }
              >
                ×
              </button>
            </li>
          ))}
        </ul>
        <form onSubmit={save}>
          <label htmlFor={id}>Save what the table shows as</label>
          <input
            id={id}
            required
            maxLength={100}
            autoComplete="off"
            value={label}
            onChange={({ target }) => setLabel(target.value)}
          />
          <button className="primary" disabled={readOnly !== undefined}>
            Save
          </button>
        </form>
        {readOnly !== undefined && <p className="quiet">{readOnly}</p>}
        {failed !== undefined && <Failure what="The views were not changed." error={failed} />}
        <div>
          <button onClick={onClose}>Close</button>
        </div>
      </div>
    </dialog>
  );
}

const wordsOf = (search: CallsSearch, users: ReadonlyMap<string, string> | undefined): string => {
  const words = describeConditions(search, users).map((condition) => condition.words);
  return visibleLine(words.length === 0 ? "all calls" : words.join(", "));
};
