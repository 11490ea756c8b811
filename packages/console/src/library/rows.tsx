import { useNavigate, useSearch } from "../router/routing.js";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import type { Column } from "../grid/virtual-grid.js";
import { JsonView } from "../json/json-view.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { rowCommands } from "./library-commands.js";
import { libraryRoute } from "./library-link.js";
import { asText, membersOf } from "../json/members.js";
import { pageRows, useRowCount, useRows } from "./use-rows.js";

interface Row {
  index: number;
  text: string;
  members: Map<string, string>;
}

/** Columns that a table has at most, of the first rows; the row under the cursor is shown whole. */
const mostColumns = 20;
const cellCharacters = 200;

/** The rows of a dataset, those in the window, and the one under the cursor whole. */
export function Rows({ projectId, digest }: { projectId: string; digest: string }) {
  const { row: given } = useSearch({ from: libraryRoute });
  const navigate = useNavigate({ from: libraryRoute });
  const count = useRowCount(projectId, digest);
  const total = count.data ?? 0;
  const current = given === undefined ? (total > 0 ? 0 : -1) : Math.min(Number(given), total - 1);
  const [wanted, setWanted] = useState<readonly number[]>([0]);
  const currentPage = Math.max(0, Math.floor(current / pageRows));
  const pages = wanted.includes(currentPage) ? wanted : [...wanted, currentPage];
  // The first page says which columns there are.
  const { rows, error, retry } = useRows(projectId, digest, pages.includes(0) ? pages : [0, ...pages]);
  const row = useCallback(
    (index: number): Row | undefined => {
      const text = rows.get(Math.floor(index / pageRows))?.[index % pageRows];
      return text === undefined ? undefined : { index, text, members: membersOf(text) };
    },
    [rows],
  );
  const first = rows.get(0);
  const columns = useMemo(() => columnsOf(first ?? []), [first]);
  const want = useCallback((from: number, end: number) => {
    const [low, high] = [Math.floor(from / pageRows), Math.floor(Math.max(from, end - 1) / pageRows)];
    const next = Array.from({ length: high - low + 1 }, (_, index) => low + index);
    setWanted((present) => (present.join() === next.join() ? present : next));
  }, []);
  const setCurrent = (index: number) => {
    const at = String(Math.max(0, Math.min(total - 1, index)));
    void navigate({ search: (search) => ({ ...search, row: at }), replace: true });
  };
  const any = total > 0;
  useCommands({ scope: "Rows" }, rowCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setCurrent(total - 1) : undefined,
  });
  const currentRow = row(current);
  return (
    <section className="version-part">
      <header>
        <h2>rows</h2>
        <span className="quiet">{count.data === undefined ? "" : counted(total, "row")}</span>
      </header>
      {count.error !== null && (
        <Failure what="The rows cannot be counted." error={count.error} onRetry={() => count.refetch()} />
      )}
      {error !== null && <Failure what="Rows cannot be read." error={error} onRetry={retry} />}
      {count.data === undefined && count.error === null && <Waiting what="Loading rows" />}
      {count.data === 0 && <p className="quiet">It has no rows.</p>}
      {any && (
        <div className="rows">
          <VirtualGrid
            label="Rows"
            columns={columns}
            count={total}
            row={row}
            onWant={want}
            current={current}
            onCurrent={setCurrent}
            onOpen={setCurrent}
            total={total}
          />
          {currentRow !== undefined && (
            <div className="rows-one">
              <header>
                <h3>row {formatCount(currentRow.index)}</h3>
                <CopyButton text={() => currentRow.text} />
              </header>
              <JsonView key={currentRow.index} label="row" text={currentRow.text} />
            </div>
          )}
        </div>
      )}
    </section>
  );
}

function columnsOf(texts: readonly string[]): Column<Row>[] {
  const names = new Set(texts.flatMap((text) => [...membersOf(text).keys()]));
  return [
    { id: "index", title: "#", width: 64, align: "end", cell: ({ index }) => formatCount(index) },
    ...[...names].slice(0, mostColumns).map((name): Column<Row> => ({
      id: `member ${name}`,
      title: <span className="given">{visibleLine(name)}</span>,
      width: 180,
      grows: true,
      cell: ({ members }) => <Cell json={members.get(name)} />,
    })),
  ];
}

function Cell({ json }: { json: string | undefined }) {
  if (json === undefined) return undefined;
  const isText = json.startsWith('"');
  // Of a long text the beginning is enough, and its end quote is not in it.
  const text = isText && json.length <= 10 * cellCharacters ? asText(json) : json;
  return (
    <span className={isText ? "given" : "mono"}>
      {visibleLine(text.slice(0, cellCharacters))}
      {text.length > cellCharacters && <span className="quiet">… {formatCount(text.length)} characters</span>}
    </span>
  );
}
