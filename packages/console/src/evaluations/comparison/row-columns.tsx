import type { EvalComparedRow, EvalComparedScore } from "@heddle/client/tracing";
import type { Column } from "../../grid/virtual-grid.js";
import { visibleLine } from "../../ui/visible-text.js";
import { letterOf, signedText, valueText } from "./difference-text.js";
import { expectedOf, preview } from "./row-contents.js";
import type { RowContent } from "./row-contents.js";

/** A row of the grid; without content while that is read. */
export interface GridRow {
  row: EvalComparedRow;
  content: RowContent | undefined;
}

interface View {
  runs: readonly string[];
  names: readonly string[];
  score: EvalComparedScore | undefined;
  isLowerBetter: boolean;
  /** The run under the cursor. */
  run: number;
  hasExpected: boolean;
  isNarrow: boolean;
  onRun: (run: number) => void;
}

/** Columns of the rows of a comparison: what was given, what is expected, and for each run its score and its output. */
export function rowColumns({
  runs,
  names,
  score,
  isLowerBetter,
  run: current,
  hasExpected,
  isNarrow,
  onRun,
}: View): Column<GridRow>[] {
  const ofRuns = runs.map((id, run): [score: Column<GridRow>, output: Column<GridRow>] => [
    {
      id: `score ${id}`,
      title: letterOf(run),
      width: run === 0 ? 72 : 112,
      align: "end",
      cell: ({ row }) => <Outcome row={row} run={run} score={score} isLowerBetter={isLowerBetter} />,
    },
    {
      id: `output ${id}`,
      title: (
        <button
          className={run === current ? "plain run-title is-current" : "plain run-title"}
          aria-pressed={run === current}
          tabIndex={-1}
          title={names[run]}
          onClick={() => onRun(run)}
        >
          {letterOf(run)} <span className="given">{visibleLine(names[run] ?? "")}</span>
        </button>
      ),
      width: isNarrow ? 130 : 160,
      grows: true,
      cell: ({ row, content }) => {
        const trials = content?.trials.get(id);
        if (content !== undefined && trials === undefined) return <span className="quiet">not in this run</span>;
        const [first] = trials ?? [];
        return (
          <span className={row.unstable[run] ? "given is-unstable" : "given"}>
            {first !== undefined && visibleLine(preview(first.output))}
            {(trials?.length ?? 0) > 1 && <span className="quiet"> ×{trials?.length}</span>}
          </span>
        );
      },
    },
  ]);
  return [
    {
      id: "input",
      title: "row",
      width: isNarrow ? 140 : 220,
      grows: true,
      cell: ({ row, content }) =>
        content === undefined ? (
          <span className="mono quiet">{row.row_digest.slice(0, 8)}…</span>
        ) : (
          <span className="given">{visibleLine(preview(content.input, expectedOf(content.input)?.name))}</span>
        ),
    },
    // Where there is little room the scores come first; what is expected is in the row that is opened.
    ...(hasExpected && !isNarrow
      ? [
          {
            id: "expected",
            title: "expected",
            width: 140,
            cell: ({ content }: GridRow) => (
              <span className="given">
                {content !== undefined && visibleLine(preview(expectedOf(content.input)?.value ?? '""'))}
              </span>
            ),
          },
        ]
      : []),
    ...(isNarrow ? [...ofRuns.map(([of]) => of), ...ofRuns.map(([, output]) => output)] : ofRuns.flat()),
  ];
}

interface OutcomeProps {
  row: EvalComparedRow;
  run: number;
  score: EvalComparedScore | undefined;
  isLowerBetter: boolean;
}

/** The score of a row in a run, and how it differs from the base run. */
export function Outcome({ row, run, score, isLowerBetter }: OutcomeProps) {
  const value = row.values[run] ?? null;
  const difference = row.differences[run] ?? null;
  const trials = row.trials[run] ?? 0;
  if (value === null) return trials === 0 ? undefined : <span className="quiet">no score</span>;
  const type = score?.runs[run]?.value_type;
  const text = valueText(value, type, trials);
  const isWorse = difference !== null && difference < 0 !== isLowerBetter;
  return (
    <span title={difference === null ? String(value) : `${value}, ${signedText(difference)} to the base run`}>
      <span className={type === "binary" ? (value > 0.5 ? "is-success" : "is-error") : undefined}>{text}</span>
      {difference !== null && difference !== 0 && (
        <span className={isWorse ? "is-error" : "is-success"}>
          {" "}
          {isWorse ? "▼" : "▲"}
          {signedText(difference)}
        </span>
      )}
    </span>
  );
}
