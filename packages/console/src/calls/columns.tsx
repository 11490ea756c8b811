import { withWidth } from "../grid/virtual-grid.js";
import type { Column } from "../grid/virtual-grid.js";
import { Latency, Status } from "../call-parts/status.js";
import { formatClock, formatCost, formatCount, formatMoment } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { valuesOf } from "./values.js";
import type { TableRow } from "./values.js";

/** What the page is asked for besides the leaves. */
export const selectedProperties = [
  "trace_id",
  "parent_id",
  "op_name",
  "name",
  "status",
  "ended_at",
  "latency_ms",
  "exception",
  "tokens",
];

/** Which calls are chosen; by the pointer, too. For the keyboard the grid is one stop. */
export const markColumn = (isChosen: (id: string) => boolean, onToggle: (id: string) => void): Column<TableRow> => ({
  id: "chosen",
  title: <span className="unseen">chosen</span>,
  width: 56,
  isPinned: true,
  resizes: false,
  cell: ({ id }) => (
    <button
      className="chosen-mark"
      tabIndex={-1}
      aria-pressed={isChosen(id)}
      aria-label="Choose"
      onClick={(event) => {
        event.stopPropagation();
        onToggle(id);
      }}
      onDoubleClick={(event) => event.stopPropagation()}
    >
      {isChosen(id) ? "✓" : ""}
    </button>
  ),
});

interface Shown {
  now: number;
  isNarrow: boolean;
  isSearched: boolean;
  /** By name, or by path. */
  pinned: readonly string[];
  /** Of columns that somebody has resized. */
  widths: ReadonlyMap<string, number>;
}

/** What an address calls a column: its name, or its path. */
export const nameOfColumn = (id: string): string => id.replace(/^path /, "");

/** The columns that every table has, and one for each path. */
export function callColumns(paths: readonly string[], { pinned, widths, ...shown }: Shown): Column<TableRow>[] {
  const isPinned = new Set(pinned);
  return allColumns(paths, shown).map((column) => {
    const name = nameOfColumn(column.id);
    return { ...withWidth(column, widths.get(name)), isPinned: isPinned.has(name) };
  });
}

function allColumns(
  paths: readonly string[],
  { now, isNarrow, isSearched }: Omit<Shown, "pinned" | "widths">,
): Column<TableRow>[] {
  return [
    {
      id: "started",
      title: "started",
      width: isNarrow ? 104 : 190,
      cell: ({ started_at }) => (
        <time dateTime={started_at} title={started_at}>
          {isNarrow ? formatClock(Date.parse(started_at)) : formatMoment(Date.parse(started_at), now)}
        </time>
      ),
    },
    {
      id: "name",
      title: "name",
      width: isNarrow ? 112 : 180,
      ...(isNarrow && { grows: true as const }),
      cell: ({ name = "" }) => <Name name={name} />,
    },
    { id: "status", title: "status", width: 92, cell: ({ status }) => <Status status={status} /> },
    { id: "latency", title: "latency", width: 96, align: "end", cell: (call) => <Latency call={call} /> },
    {
      id: "tokens",
      title: "tokens",
      width: 80,
      align: "end",
      cell: ({ tokens }) => (tokens === undefined ? undefined : formatCount(tokens)),
    },
    {
      id: "cost",
      title: "cost",
      width: 80,
      align: "end",
      cell: ({ cost }) => (cost === undefined ? undefined : <span title={String(cost)}>{formatCost(cost)}</span>),
    },
    ...(isSearched ? [foundColumn] : []),
    ...paths.map((path): Column<TableRow> => ({
      id: `path ${path}`,
      title: <span className="given">{visibleLine(path)}</span>,
      width: 220,
      least: 150,
      grows: true,
      cell: (call) => <Value call={call} path={path} />,
    })),
  ];
}

/** Where the words of the search are. */
const foundColumn: Column<TableRow> = {
  id: "found",
  title: "found in",
  width: 200,
  least: 120,
  cell: ({ matches = [] }) => {
    const places = [...new Set(matches.map(({ path }) => path))];
    return (
      <span className="mono given" title={places.join("\n")}>
        {visibleLine(places.join(", "))}
      </span>
    );
  },
};

const Name = ({ name }: { name: string }) => <span title={name}>{visibleLine(name)}</span>;

/** A failed call has its reason where its output would be. */
function Value({ call, path }: { call: TableRow; path: string }) {
  const value = valuesOf(call).get(path);
  if (path === "output" && call.exception !== undefined && (value === undefined || value.text === "null")) {
    return <span className="is-error">{visibleLine(call.exception)}</span>;
  }
  if (value === undefined) return undefined;
  return (
    <span
      className={value.isJson ? "mono" : undefined}
      title={value.rest === undefined ? undefined : `${value.rest} in all`}
    >
      {value.text}
      {value.rest !== undefined && <span className="quiet">… {value.rest}</span>}
    </span>
  );
}
