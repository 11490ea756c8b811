import { JsonView } from "../json/json-view.js";
import { CopyButton } from "../ui/copy-button.js";
import { formatBytes } from "../ui/format.js";
import type { Kind } from "./kinds.js";
import { tableOf } from "./kinds.js";
import { PromptText } from "./prompt-text.js";
import { Rows } from "./rows.js";
import { Source } from "./source.js";
import { filesOf, stringMember } from "../json/members.js";
import type { Version } from "./version-head.js";

/** The value of a version; of an op its source, of a dataset its rows. */
export function Value({ projectId, kind, version }: { projectId: string; kind: Kind; version: Version }) {
  const { text } = version.val;
  const files = filesOf(text);
  const table = tableOf(stringMember(text, "rows"));
  return (
    <>
      {files.map(([name, digest]) => (
        <Source key={name} projectId={projectId} name={name} digest={digest} />
      ))}
      {kind === "prompts" && <PromptText text={text} />}
      {table !== undefined && <Rows projectId={projectId} digest={table} />}
      <section className="version-part">
        <header>
          <h2>value</h2>
          <span className="quiet">{formatBytes(new Blob([text]).size)}</span>
          <CopyButton text={() => text} />
        </header>
        <JsonView label="value" text={text} />
      </section>
    </>
  );
}
