import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { formatBytes } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { useFile } from "./use-file.js";

/** A file of a version, such as the source of an op. */
export function Source({ projectId, name, digest }: { projectId: string; name: string; digest: string }) {
  const { data, error, refetch } = useFile(projectId, digest);
  return (
    <section className="version-part">
      <header>
        <h2 className="given">{visibleLine(name)}</h2>
        {data !== undefined && "text" in data && <CopyButton text={() => data.text} />}
      </header>
      {error !== null && <Failure what="The file cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading the file" />}
      {data !== undefined &&
        ("text" in data ? (
          <pre className="source given" tabIndex={0} aria-label={name} role="region">
            {visibleText(data.text)}
          </pre>
        ) : (
          <p className="quiet">{formatBytes(data.bytes)} that are not shown as text.</p>
        ))}
    </section>
  );
}
