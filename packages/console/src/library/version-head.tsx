import { objRemoveAliases, objRemoveTags } from "@heddle/client/tracing";
import type { ObjReadRawResult } from "@heddle/client/tracing";
import { useState } from "react";
import { useMe } from "../data/use-me.js";
import { useSession } from "../session/session-context.js";
import { Ago } from "../ui/ago.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { visibleLine } from "../ui/visible-text.js";
import { refOf } from "./kinds.js";
import type { Kind } from "./kinds.js";

export type Version = ObjReadRawResult["obj"];

interface Props {
  projectId: string;
  kind: Kind;
  version: Version;
  /** Absent for keys that may read only. */
  onLabel: ((what: "alias" | "tag") => void) | undefined;
  onChanged: () => void;
}

/** Name, labels and origin of a version. */
export function VersionHead({ projectId, kind, version, onLabel, onChanged }: Props) {
  const session = useSession();
  const me = useMe();
  const [error, setError] = useState<unknown>();
  const { object_id, digest, version_index, created_at, wb_user_id, leaf_object_class } = version;
  const remove = (removing: Promise<unknown>) => {
    setError(undefined);
    removing.then(onChanged, setError);
  };
  const ref = refOf(projectId, kind, object_id, digest);
  return (
    <header className="version-head">
      <h1>
        <span className="given">{visibleLine(object_id)}</span> <span className="quiet">v{version_index}</span>
      </h1>
      <p className="quiet">
        {leaf_object_class && <span className="given">{visibleLine(leaf_object_class)}</span>} published{" "}
        <Ago time={created_at} />
        {wb_user_id && (
          <>
            {" "}
            by {wb_user_id === me.data?.user.id ? "you" : <span className="mono given">{visibleLine(wb_user_id)}</span>}
          </>
        )}
      </p>
      <p className="version-ref">
        <code className="given cut" title={ref}>
          {visibleLine(ref)}
        </code>
        <CopyButton text={() => ref} label="Copy the ref" />
      </p>
      <p className="labels">
        {(version.aliases ?? []).map((alias) => (
          <span key={`alias ${alias}`} className="label is-alias given">
            {visibleLine(alias)}
            {onLabel !== undefined && alias !== "latest" && (
              <button
                aria-label={`Remove the alias ${alias}`}
                onClick={() =>
                  remove(objRemoveAliases(session.connection, { object_id, project_id: projectId, aliases: [alias] }))
                }
              >
                ×
              </button>
            )}
          </span>
        ))}
        {(version.tags ?? []).map((tag) => (
          <span key={`tag ${tag}`} className="label given">
            #{visibleLine(tag)}
            {onLabel !== undefined && (
              <button
                aria-label={`Remove the tag ${tag}`}
                onClick={() =>
                  remove(objRemoveTags(session.connection, { object_id, digest, project_id: projectId, tags: [tag] }))
                }
              >
                ×
              </button>
            )}
          </span>
        ))}
        {onLabel !== undefined && (
          <>
            <button className="plain" onClick={() => onLabel("alias")}>
              Alias <kbd>a</kbd>
            </button>
            <button className="plain" onClick={() => onLabel("tag")}>
              Tag <kbd>t</kbd>
            </button>
          </>
        )}
      </p>
      {error !== undefined && <Failure what="The label was not removed." error={error} />}
    </header>
  );
}
