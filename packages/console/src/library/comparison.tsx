import { Changes, JsonChanges } from "../diff/changes.js";
import { Failure } from "../ui/failure.js";
import { formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { filesOf, stringMember } from "../json/members.js";
import { tableOf } from "./kinds.js";
import { useFile } from "./use-file.js";
import { useVersion } from "./use-library.js";
import { useFirstRows } from "./use-rows.js";
import type { Version } from "./version-head.js";
import { failureOf, retryFailed } from "../data/several-reads.js";

interface Props {
  projectId: string;
  name: string;
  after: Version;
  /** The version that it is compared with. */
  vs: string;
  onClose: () => void;
}

/** What changed from one version to another: of its value, its files and its rows. */
export function Comparison({ projectId, name, after, vs, onClose }: Props) {
  const { data: before, error, refetch } = useVersion(projectId, name, vs);
  if (error !== null)
    return <Failure what="The other version cannot be read." error={error} onRetry={() => refetch()} />;
  if (before === undefined) return <Waiting what="Loading the other version" />;
  const [old, now] = [before.val.text, after.val.text];
  const [oldFiles, nowFiles] = [new Map(filesOf(old)), new Map(filesOf(now))];
  const files = [...new Set([...oldFiles.keys(), ...nowFiles.keys()])].filter(
    (file) => oldFiles.get(file) !== nowFiles.get(file),
  );
  const [oldTable, nowTable] = [old, now].map((text) => tableOf(stringMember(text, "rows")));
  return (
    <>
      <p className="comparison-head">
        <strong>
          v{before.version_index} → v{after.version_index}
        </strong>
        <button className="plain" onClick={onClose}>
          Show the version <kbd>=</kbd>
        </button>
      </p>
      {files.map((file) => (
        <FileChange
          key={file}
          projectId={projectId}
          name={file}
          before={oldFiles.get(file)}
          after={nowFiles.get(file)}
        />
      ))}
      {oldTable !== nowTable && <RowsChange projectId={projectId} before={oldTable} after={nowTable} />}
      <JsonChanges title="value" before={old} after={now} />
    </>
  );
}

function FileChange({
  projectId,
  name,
  before,
  after,
}: {
  projectId: string;
  name: string;
  before: string | undefined;
  after: string | undefined;
}) {
  const old = useFile(projectId, before);
  const now = useFile(projectId, after);
  const error = failureOf([old, now]);
  const retry = () => retryFailed([old, now]);
  if (error !== null) return <Failure what={`${visibleLine(name)} cannot be read.`} error={error} onRetry={retry} />;
  if ((before !== undefined && old.data === undefined) || (after !== undefined && now.data === undefined))
    return <Waiting what="Loading the files" />;
  return <Changes title={visibleLine(name)} before={linesOf(old.data)} after={linesOf(now.data)} />;
}

const linesOf = (file: { text: string } | { bytes: number } | undefined): string[] =>
  file === undefined
    ? []
    : "text" in file
      ? file.text.split("\n")
      : [`${formatCount(file.bytes)} bytes that are not shown as text`];

/** Rows of each table that are compared. */
const comparedRows = 1000;

function RowsChange({
  projectId,
  before,
  after,
}: {
  projectId: string;
  before: string | undefined;
  after: string | undefined;
}) {
  const old = useFirstRows(projectId, before, comparedRows);
  const now = useFirstRows(projectId, after, comparedRows);
  const error = failureOf([old, now]);
  const retry = () => retryFailed([old, now]);
  if (error !== null) return <Failure what="Rows cannot be read." error={error} onRetry={retry} />;
  const isLoading = (digest: string | undefined, rows: unknown) => digest !== undefined && rows === undefined;
  if (isLoading(before, old.data) || isLoading(after, now.data)) return <Waiting what="Loading rows" />;
  const { rows: oldRows = [], total: oldTotal = 0 } = old.data ?? {};
  const { rows: nowRows = [], total: nowTotal = 0 } = now.data ?? {};
  return (
    <Changes
      title="rows"
      before={oldRows}
      after={nowRows}
      note={
        Math.max(oldTotal, nowTotal) > comparedRows
          ? `Compared are the first ${formatCount(comparedRows)} of ${formatCount(oldTotal)} and ${formatCount(nowTotal)}.`
          : undefined
      }
    />
  );
}
