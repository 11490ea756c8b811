import { useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useMe } from "../data/use-me.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { KeyDialog } from "./key-dialog.js";
import type { Asked } from "./key-dialog.js";
import { keysCommands } from "./settings-commands.js";
import { useKeys } from "./use-keys.js";
import type { Key } from "./use-keys.js";

/** The keys that reach no further than that of the reader. */
export function KeysView() {
  const me = useMe();
  const isAdmin = me.data?.role === "admin";
  const { data, error, refetch } = useKeys(isAdmin);
  const [cursor, setCursor] = useState<string>();
  const [asked, setAsked] = useState<Asked>();
  // Those that work first, of both the newest.
  const keys = data?.toReversed().toSorted((a, b) => Number(isRevoked(a)) - Number(isRevoked(b))) ?? [];
  const at = Math.max(
    0,
    keys.findIndex(({ id }) => id === cursor),
  );
  const current = keys[at];
  const move = (step: number) =>
    keys.length === 0 ? undefined : () => setCursor(keys[Math.max(0, Math.min(keys.length - 1, at + step))]?.id);
  const canChange = current !== undefined && !isRevoked(current);
  useCommands({ scope: "Keys" }, keysCommands, {
    next: move(1),
    previous: move(-1),
    create: isAdmin ? () => setAsked({ what: "create" }) : undefined,
    rename: canChange ? () => setAsked({ what: "rename", key: current }) : undefined,
    revoke: canChange ? () => setAsked({ what: "revoke", key: current }) : undefined,
  });
  if (me.data !== undefined && !isAdmin) {
    return (
      <p className="prose">
        Your key <span className="mono">{me.data.key.prefix}…</span> may {me.data.role}. Keys are made and revoked with
        one that has the role <code>admin</code>.
      </p>
    );
  }
  return (
    <>
      <div className="settings-bar">
        <button className="primary" onClick={() => setAsked({ what: "create" })}>
          Make a key
        </button>
        <kbd>n</kbd>
        <span className="quiet" role="status">
          {data !== undefined && counted(data.filter((key) => !isRevoked(key)).length, "valid key")}
        </span>
      </div>
      {error !== null && <Failure what="The keys cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading keys" />}
      {data !== undefined && keys.length === 0 && (
        <p className="prose">There is no key besides the owner key, which is not listed. Make one for each program.</p>
      )}
      {keys.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Keys">
          <table className="plain-table keys-table">
            <thead>
              <tr>
                {["key", "for", "user", "may", "reaches", "made", "last used", ""].map((title) => (
                  <th key={title} scope="col">
                    {title === "" ? <span className="unseen">changes</span> : title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {keys.map((key) => (
                <KeyRow
                  key={key.id}
                  value={key}
                  isCurrent={key === current}
                  isOwn={key.id === me.data?.key.id}
                  onAsk={setAsked}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {asked !== undefined && (
        <KeyDialog asked={asked} onChanged={() => void refetch()} onClose={() => setAsked(undefined)} />
      )}
    </>
  );
}

const isRevoked = ({ revoked_at }: Key): boolean => revoked_at !== undefined;
const keepInView = (row: HTMLElement | null) => row?.scrollIntoView({ block: "nearest" });

interface RowProps {
  value: Key;
  isCurrent: boolean;
  isOwn: boolean;
  onAsk: (asked: Asked) => void;
}

function KeyRow({ value, isCurrent, isOwn, onAsk }: RowProps) {
  const { prefix, name, user, entity, role, projects, created_at, last_used_at, revoked_at } = value;
  return (
    <tr ref={isCurrent ? keepInView : undefined} className={isCurrent ? "is-current" : undefined}>
      <th scope="row" className="mono">
        {prefix}…{isOwn && <span className="quiet"> yours</span>}
      </th>
      <td className="given">{visibleLine(name)}</td>
      <td className="given">{visibleLine(user.name)}</td>
      <td>{role}</td>
      <td className="given">
        {projects === undefined
          ? `${entity}/*`
          : projects.map((project) => `${entity}/${visibleLine(project)}`).join(", ")}
      </td>
      <td className="quiet">
        <Ago time={created_at} />
      </td>
      <td className="quiet">{last_used_at === undefined ? "never" : <Ago time={last_used_at} />}</td>
      <td>
        {revoked_at === undefined ? (
          <>
            <button className="plain" onClick={() => onAsk({ what: "rename", key: value })}>
              Rename
            </button>
            <button className="plain" onClick={() => onAsk({ what: "revoke", key: value })}>
              Revoke
            </button>
          </>
        ) : (
          <span className="quiet">
            revoked <Ago time={revoked_at} />
          </span>
        )}
      </td>
    </tr>
  );
}
