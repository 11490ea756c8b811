import { isNotFound } from "../data/is-not-found.js";
import { useNavigate, useSearch } from "../router/routing.js";
import { useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { useMe } from "../data/use-me.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { copyText } from "../ui/notice.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { Comparison } from "./comparison.js";
import { titleOf } from "./kinds.js";
import type { Kind } from "./kinds.js";
import { LabelDialog } from "./label-dialog.js";
import { versionCommands } from "./library-commands.js";
import { libraryRoute, linkToLibrary } from "./library-link.js";
import { useVersion, useVersions, versionRequest } from "./use-library.js";
import { Value } from "./value.js";
import { VersionHead } from "./version-head.js";
import { VersionsList } from "./versions-list.js";
import { WhereUsed } from "./where-used.js";
import "./version-view.css";

interface Props {
  projectId: string;
  kind: Kind;
  name: string;
  /** A digest, an alias, `latest` or `v0`. */
  version: string;
}

/** A version of something: its value, what was changed, its labels and where it is used. */
export function VersionView({ projectId, kind, name, version }: Props) {
  const { vs } = useSearch({ from: libraryRoute });
  const navigate = useNavigate({ from: libraryRoute });
  const versions = useVersions(projectId, kind, name);
  const read = useVersion(projectId, name, version);
  const me = useMe();
  const [labelling, setLabelling] = useState<"alias" | "tag">();
  const mayWrite = me.data !== undefined && me.data.role !== "read";
  const list = versions.data ?? [];
  const index = list.findIndex(({ digest }) => digest === read.data?.digest);
  const before = index < 0 ? undefined : list[index + 1];
  const open = (at: number) => {
    const digest = index < 0 ? undefined : list[at]?.digest;
    if (digest === undefined) return undefined;
    return () => void navigate({ ...linkToLibrary(projectId, kind, name, digest), replace: true });
  };
  const compare = (digest: string | undefined) =>
    void navigate({ search: (given) => ({ ...given, vs: digest, row: undefined }) });
  const label = (what: "alias" | "tag") => (mayWrite && read.data !== undefined ? () => setLabelling(what) : undefined);
  useCommands({ scope: "Version" }, versionCommands, {
    newer: open(index - 1),
    older: open(index + 1),
    compare: vs !== undefined ? () => compare(undefined) : before && (() => compare(before.digest)),
    alias: label("alias"),
    tag: label("tag"),
    curl: () =>
      copyText(asCurl(serviceUrl(), "/obj/read", versionRequest(projectId, name, version)), "the request as curl"),
    back: () => void navigate({ ...linkToLibrary(projectId, kind), search: { at: name } }),
  });
  const reload = () => Promise.all([versions.refetch(), read.refetch()]);
  const isUnknown = read.error !== null && isNotFound(read.error);
  return (
    <div className="version">
      <VersionsList
        projectId={projectId}
        kind={kind}
        name={name}
        versions={list}
        error={versions.error}
        onRetry={() => versions.refetch()}
        current={read.data?.digest}
        vs={vs}
        onCompare={compare}
      />
      <div className="version-main">
        {isUnknown && (
          <>
            <h1>There is no such version</h1>
            <p className="prose">
              <span className="mono given">{projectId}</span> has no{" "}
              <span className="mono given">{visibleLine(name)}</span> of version{" "}
              <span className="mono given">{visibleLine(version)}</span>. It was deleted, or is one of another project.
            </p>
            <p>
              <button onClick={() => void navigate(linkToLibrary(projectId, kind))}>
                {titleOf[kind]} of the project
              </button>
            </p>
          </>
        )}
        {read.error !== null && !isUnknown && (
          <Failure what="The version cannot be read." error={read.error} onRetry={reload} />
        )}
        {read.data === undefined && read.error === null && <Waiting what="Loading the version" />}
        {read.data !== undefined && (
          <>
            <VersionHead
              projectId={projectId}
              kind={kind}
              version={read.data}
              onLabel={mayWrite ? setLabelling : undefined}
              onChanged={() => void reload()}
            />
            {vs === undefined ? (
              <>
                <Value projectId={projectId} kind={kind} version={read.data} />
                <WhereUsed projectId={projectId} kind={kind} version={read.data} />
              </>
            ) : (
              <Comparison
                projectId={projectId}
                name={name}
                after={read.data}
                vs={vs}
                onClose={() => compare(undefined)}
              />
            )}
          </>
        )}
      </div>
      {labelling !== undefined && read.data !== undefined && (
        <LabelDialog
          what={labelling}
          projectId={projectId}
          version={read.data}
          onChanged={() => void reload()}
          onClose={() => setLabelling(undefined)}
        />
      )}
    </div>
  );
}
