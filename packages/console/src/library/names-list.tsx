import type { ObjSchema } from "@heddle/client/tracing";
import { Link, useNavigate, useSearch } from "../router/routing.js";
import { useCallback, useMemo, useRef } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import type { Column } from "../grid/virtual-grid.js";
import { serviceUrl } from "../session/service-url.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { useMedia } from "../ui/use-media.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { kinds, titleOf } from "./kinds.js";
import type { Kind } from "./kinds.js";
import { Labels } from "./labels.js";
import { libraryCommands } from "./library-commands.js";
import { libraryRoute, linkToLibrary } from "./library-link.js";
import { howToPublish } from "./publish.js";
import { namesRequest, useNames } from "./use-library.js";

/** The names of a kind with their newest versions. */
export function NamesList({ projectId, kind }: { projectId: string; kind: Kind }) {
  const { q = "", at } = useSearch({ from: libraryRoute });
  const navigate = useNavigate({ from: libraryRoute });
  const field = useRef<HTMLInputElement>(null);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useNames(projectId, kind);
  const all = useMemo(() => data?.pages.flat() ?? [], [data]);
  const matching = useMemo(
    () => all.filter(({ object_id }) => object_id.toLowerCase().includes(q.toLowerCase())),
    [all, q],
  );
  const found = matching.findIndex(({ object_id }) => object_id === at);
  const current = found >= 0 ? found : matching.length > 0 ? 0 : -1;
  const setCurrent = (index: number) => {
    const name = matching[Math.max(0, Math.min(matching.length - 1, index))]?.object_id;
    void navigate({ search: (given) => ({ ...given, at: name }), replace: true });
  };
  const setFilter = (text: string) =>
    void navigate({
      search: (given) => ({ ...given, q: text === "" ? undefined : text, at: undefined }),
      replace: true,
    });
  const open = (index: number) => {
    const version = matching[index];
    if (version !== undefined) void navigate(linkToLibrary(projectId, kind, version.object_id, version.digest));
  };
  const toKind = (step: number) => {
    const next = kinds[kinds.indexOf(kind) + step];
    return next && (() => void navigate(linkToLibrary(projectId, next)));
  };
  const any = current >= 0;
  useCommands({ scope: "Library" }, libraryCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    open: any ? () => open(current) : undefined,
    filter: () => field.current?.focus(),
    nextKind: toKind(1),
    previousKind: toKind(-1),
    curl: () => copyText(asCurl(serviceUrl(), "/objs/query", namesRequest(projectId, kind)), "the request as curl"),
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const columns = useMemo(() => columnsOf(projectId, kind, isNarrow), [projectId, kind, isNarrow]);
  const row = useCallback((index: number) => matching[index], [matching]);
  const want = useCallback(
    (_: number, end: number) => {
      if (end >= matching.length && hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    [matching.length, hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  return (
    <>
      <h1 className="unseen">
        {titleOf[kind]} of {projectId}
      </h1>
      <div className="library-bar">
        <nav className="tabs" aria-label="Kinds">
          {kinds.map((each) => (
            <Link key={each} {...linkToLibrary(projectId, each)} aria-current={each === kind ? "page" : undefined}>
              {titleOf[each]}
            </Link>
          ))}
        </nav>
        <input
          ref={field}
          type="search"
          aria-label="Filter names"
          placeholder="Filter   /"
          value={q}
          onChange={({ target }) => setFilter(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              setFilter("");
              event.currentTarget.blur();
            } else if (event.key === "Enter") open(current);
          }}
        />
        <span className="quiet" role="status">
          {data === undefined
            ? ""
            : q === ""
              ? `${counted(all.length, "name")}${hasNextPage ? " and more" : ""}`
              : `${formatCount(matching.length)} of ${formatCount(all.length)}${hasNextPage ? " newest" : ""}`}
        </span>
      </div>
      {data === undefined && error === null && <Waiting what={`Loading ${kind}`} />}
      {error !== null && (
        <div className="library-note">
          <Failure what={`The ${kind} cannot be read.`} error={error} onRetry={() => refetch()} />
        </div>
      )}
      {data !== undefined && all.length === 0 && (
        <div className="library-note prose">
          <p>
            <span className="mono given">{projectId}</span> has no {kind} that your key may read.
          </p>
          <p>{howToPublish[kind]}</p>
        </div>
      )}
      {all.length > 0 && matching.length === 0 && (
        <p className="library-note prose">
          None of them has <span className="mono given">{visibleLine(q)}</span> in its name.{" "}
          <button className="plain" onClick={() => setFilter("")}>
            Show all
          </button>
        </p>
      )}
      {matching.length > 0 && (
        <VirtualGrid
          label={titleOf[kind]}
          columns={columns}
          count={matching.length}
          row={row}
          onWant={want}
          current={current}
          onCurrent={setCurrent}
          onOpen={open}
          total={hasNextPage ? undefined : matching.length}
        />
      )}
    </>
  );
}

function columnsOf(projectId: string, kind: Kind, isNarrow: boolean): Column<ObjSchema>[] {
  return [
    {
      id: "name",
      title: "name",
      width: isNarrow ? 160 : 320,
      grows: true,
      cell: ({ object_id, digest }) => (
        <Link {...linkToLibrary(projectId, kind, object_id, digest)} className="given" title={object_id} tabIndex={-1}>
          {visibleLine(object_id)}
        </Link>
      ),
    },
    {
      id: "versions",
      title: "newest",
      width: 72,
      align: "end",
      cell: ({ version_index }) => `v${version_index}`,
    },
    ...(isNarrow
      ? []
      : ([
          {
            id: "labels",
            title: "aliases and tags",
            width: 240,
            cell: (version) => <Labels aliases={version.aliases ?? []} tags={version.tags ?? []} />,
          },
          {
            id: "class",
            title: "class",
            width: 160,
            cell: ({ leaf_object_class }) => leaf_object_class && visibleLine(leaf_object_class),
          },
        ] satisfies Column<ObjSchema>[])),
    {
      id: "created",
      title: "published",
      width: 108,
      align: "end",
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
  ];
}
