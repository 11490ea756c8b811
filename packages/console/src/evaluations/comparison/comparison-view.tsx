import type { EvalResultsCompareRes } from "@heddle/client/tracing";
import { useNavigate } from "../../router/routing.js";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { asCurl } from "../../data/as-curl.js";
import { VirtualGrid } from "../../grid/virtual-grid.js";
import { linkToProject } from "../../project/project-link.js";
import { serviceUrl } from "../../session/service-url.js";
import { Failure } from "../../ui/failure.js";
import { counted, formatCount } from "../../ui/format.js";
import { copyText, showNotice } from "../../ui/notice.js";
import { useMedia } from "../../ui/use-media.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { idsIn, idsText } from "../evaluations-search.js";
import type { EvaluationsSearch } from "../evaluations-search.js";
import { shortRef } from "../run-names.js";
import { scoreName } from "../score-text.js";
import { comparedRunsCommands } from "./comparison-commands.js";
import { letterOf } from "./difference-text.js";
import { rowColumns } from "./row-columns.js";
import type { GridRow } from "./row-columns.js";
import { expectedOf, useRowContents } from "./row-contents.js";
import { RowDetails } from "./row-details.js";
import { ScoresTable } from "./scores-table.js";
import { useComparison } from "./use-comparison.js";
import "./comparison.css";

interface Props {
  projectId: string;
  base: string;
  search: EvaluationsSearch;
  onChange: (by: EvaluationsSearch, replace?: boolean) => void;
}

const sorts = { regression: "worst first", improvement: "best first", row_digest: "by digest" } as const;
type Sort = keyof typeof sorts;
const filters = {
  all: "all rows",
  regressions: "only regressions",
  improvements: "only improvements",
  flips: "only rows that pass or fail anew",
  unstable: "only rows whose trials disagree",
} as const;
type Only = keyof typeof filters;
const keyIn = <Key extends string>(known: Record<Key, string>, text: string | undefined, usual: Key): Key =>
  text !== undefined && Object.hasOwn(known, text) ? (text as Key) : usual;
const after = <Key extends string>(known: Record<Key, string>, key: Key): Key => {
  const keys = Object.keys(known) as Key[];
  return keys[(keys.indexOf(key) + 1) % keys.length] ?? key;
};

/** What changed between a base run and others: the scores, and the rows that got worse or better. Of a run alone, what it has. */
export function ComparisonView({ projectId, base, search, onChange }: Props) {
  const navigate = useNavigate();
  const runs = useMemo(() => [base, ...idsIn(search.vs)], [base, search.vs]);
  const sort = keyIn<Sort>(sorts, search.sort, "regression");
  const only = keyIn<Only>(filters, search.only, "all");
  const isLowerBetter = search.lower === "1";
  const isAlone = runs.length === 1;
  const offered = Object.entries(filters).filter(([key]) => !isAlone || key === "all" || key === "unstable");
  const [range, setRange] = useState({ first: 0, end: 50 });
  const order = {
    sort,
    only,
    lower_is_better: isLowerBetter,
    ...(search.score !== undefined && { score: search.score }),
  };
  // Where the cursor is to go once the row is read.
  const [target, setTarget] = useState<number>();
  const ranges = target === undefined ? [range] : [range, { first: target, end: target + 1 }];
  const { figures, rows, total, score, warnings, isRead, isReadingOn, isOld, error, refetch } = useComparison(
    projectId,
    runs,
    order,
    ranges,
  );
  const indexes = useMemo(() => new Map([...rows].map(([index, { row_digest: digest }]) => [digest, index])), [rows]);
  const found = search.row === undefined ? undefined : indexes.get(search.row);
  const isSought = found === undefined && search.row !== undefined && isReadingOn;
  const current = found ?? (total > 0 && !isSought ? 0 : -1);
  const content = useRowContents(projectId, runs, rows, range);
  const atCursor = useRowContents(projectId, runs, rows, cursorRange(current));
  const contentAt = useCallback(
    (digest: string) => content.contents.get(digest) ?? atCursor.contents.get(digest),
    [content.contents, atCursor.contents],
  );
  const row = useMemo(() => {
    const rowsByIndex = new Map<number, GridRow>();
    return (index: number): GridRow | undefined => {
      const of = rows.get(index);
      if (of === undefined) return undefined;
      const known = rowsByIndex.get(index) ?? { row: of, content: contentAt(of.row_digest) };
      rowsByIndex.set(index, known);
      return known;
    };
  }, [rows, contentAt]);
  const names = useMemo(() => namesOf(figures, runs), [figures, runs]);
  const chosen = figures?.scores.find(({ field }) => field === score);
  const run = Math.min(runs.length - 1, Number(search.run ?? 1) || 0);
  const atCurrent = row(current);
  // What is open stays so while its place in another order is sought.
  const [kept, setKept] = useState(atCurrent);
  if (atCurrent !== undefined && atCurrent !== kept) setKept(atCurrent);
  const currentRow = atCurrent ?? (isSought ? kept : undefined);
  const isOpen = search.open === "1" && currentRow !== undefined;
  const trial = currentRow?.content?.trials.get(runs[run] ?? "")?.[0];
  const setCurrent = (index: number) => {
    const to = Math.max(0, Math.min(total - 1, index));
    const digest = rows.get(to)?.row_digest;
    setTarget(digest === undefined ? to : undefined);
    if (digest !== undefined) onChange({ row: digest }, true);
  };
  const reached = target === undefined ? undefined : rows.get(target)?.row_digest;
  useEffect(() => {
    if (reached === undefined) return;
    setTarget(undefined);
    onChange({ row: reached }, true);
  }, [reached, onChange]);
  const setRun = (index: number) => onChange({ run: String(Math.max(0, Math.min(runs.length - 1, index))) }, true);
  const close = () => onChange({ base: undefined, vs: undefined, row: undefined, run: undefined, open: undefined });
  const openCall = (callId: string | undefined, missing: string) => () => {
    if (callId === undefined) showNotice(missing);
    else
      void navigate({
        to: "/$entity/$project/calls/$callId",
        params: { ...linkToProject(projectId).params, callId },
      });
  };
  const scorerId = trial?.scorerIds[chosen?.scorer_key ?? ""] ?? Object.values(trial?.scorerIds ?? {})[0];
  const scored = figures?.scores.filter(({ runs: of }) => of.some(({ mean }) => mean !== null)) ?? [];
  const any = current >= 0;
  useCommands({ scope: "Comparison of runs" }, comparedRunsCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    nextRun: () => setRun(run + 1),
    previousRun: () => setRun(run - 1),
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setCurrent(total - 1) : undefined,
    open: any ? () => onChange({ open: isOpen ? undefined : "1" }) : undefined,
    scorer: any ? openCall(scorerId, "No call of a scorer is known for this row") : undefined,
    prediction: any ? openCall(trial?.predictionId, "No call of a prediction is known for this row") : undefined,
    diff: isOpen && !isAlone ? () => onChange({ diff: search.diff === "base" ? undefined : "base" }, true) : undefined,
    score:
      scored.length > 1
        ? () => {
            const at = scored.findIndex(({ field }) => field === score);
            onChange({ score: scored[(at + 1) % scored.length]?.field }, true);
          }
        : undefined,
    direction: () => onChange({ lower: isLowerBetter ? undefined : "1" }, true),
    sort: () => onChange({ sort: after(sorts, sort) }, true),
    worse: isAlone ? undefined : () => onChange({ only: only === "regressions" ? undefined : "regressions" }, true),
    base:
      run > 0
        ? () => {
            const next = runs[run] ?? base;
            onChange({ base: next, vs: idsText(runs.filter((id) => id !== next)), run: undefined });
          }
        : undefined,
    close: isOpen ? () => onChange({ open: undefined }) : close,
    curl: () =>
      copyText(
        asCurl(serviceUrl(), `/v2/${projectId}/eval_results/compare`, { base, others: runs.slice(1), ...order }),
        "the request as curl",
      ),
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const hasExpected = useMemo(
    () => [...content.contents.values()].some(({ input }) => expectedOf(input) !== undefined),
    [content.contents],
  );
  const columns = rowColumns({
    runs,
    names,
    score: chosen,
    isLowerBetter,
    run,
    hasExpected,
    isNarrow,
    onRun: setRun,
  });
  const want = useCallback((first: number, end: number) => setRange({ first, end }), []);
  return (
    <main className={isOpen ? "comparison has-row" : "comparison"}>
      <h1 className="unseen">
        {isAlone ? "Results of an evaluation run" : "Comparison of evaluation runs"} of {projectId}
      </h1>
      <div className="evaluations-bar">
        <button className="plain at-edge" onClick={close}>
          ← All runs
        </button>
        <label>
          <span className="quiet">by</span>{" "}
          <select value={score ?? ""} onChange={({ target }) => onChange({ score: target.value }, true)}>
            {chosen === undefined && <option value={score ?? ""}>{visibleLine(score ?? "no score")}</option>}
            {scored.map((of) => (
              <option key={of.field} value={of.field}>
                {visibleLine(scoreName(of))}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input
            type="checkbox"
            checked={isLowerBetter}
            onChange={() => onChange({ lower: isLowerBetter ? undefined : "1" }, true)}
          />{" "}
          smaller is better
        </label>
        <label>
          <span className="unseen">Order</span>
          <select value={sort} onChange={({ target }) => onChange({ sort: target.value }, true)}>
            {Object.entries(sorts).map(([key, title]) => (
              <option key={key} value={key}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span className="unseen">Which rows</span>
          <select
            value={only}
            onChange={({ target }) => onChange({ only: target.value === "all" ? undefined : target.value }, true)}
          >
            {offered.map(([key, title]) => (
              <option key={key} value={key}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet" role="status">
          {isRead && counted(total, "row")}
        </span>
      </div>
      {warnings.map((warning) => (
        <p key={warning} className="comparison-note given">
          ⚠ {visibleLine(inLetters(warning, runs))}
        </p>
      ))}
      {error !== null && (
        <div className="evaluations-note">
          <Failure
            what={isAlone ? "The results cannot be read." : "The runs cannot be compared."}
            error={error}
            onRetry={refetch}
          />
        </div>
      )}
      {!isRead && error === null && (
        <div className="evaluations-note">
          <Waiting what={isAlone ? "Reading the results" : "Comparing the runs"} />
        </div>
      )}
      {figures !== undefined && figures.scores.length > 0 && (
        <ScoresTable
          comparison={figures}
          names={names}
          chosen={score}
          isLowerBetter={isLowerBetter}
          onChoose={(field) => onChange({ score: field }, true)}
        />
      )}
      {isRead && total === 0 && (
        <div className="evaluations-note prose">
          {only === "all" ? (
            <p>{isAlone ? "The run has no results." : "None of the runs has results."}</p>
          ) : (
            <p>
              No row is left by “{filters[only]}”.{" "}
              <button onClick={() => onChange({ only: undefined }, true)}>Show all rows</button>
            </p>
          )}
        </div>
      )}
      {content.error !== null && (
        <div className="evaluations-note">
          <Failure what="What the rows hold cannot be read." error={content.error} onRetry={content.refetch} />
        </div>
      )}
      {total > 0 && (
        <div className="comparison-rows">
          <VirtualGrid
            label="Rows"
            columns={columns}
            count={total}
            row={row}
            onWant={want}
            current={current}
            onCurrent={setCurrent}
            onOpen={() => onChange({ open: "1" })}
            total={total}
            isOld={isOld}
          />
          {isOpen && (
            <RowDetails
              key={currentRow.row.row_digest}
              projectId={projectId}
              row={currentRow.row}
              content={currentRow.content}
              runs={runs}
              names={names}
              run={run}
              score={chosen}
              isLowerBetter={isLowerBetter}
              isToBase={search.diff === "base"}
              place={`row ${current < 0 ? "…" : formatCount(current + 1)} of ${formatCount(total)}`}
              onRun={setRun}
              onDiff={() => onChange({ diff: search.diff === "base" ? undefined : "base" }, true)}
              onClose={() => onChange({ open: undefined })}
            />
          )}
        </div>
      )}
    </main>
  );
}

/** The row under the cursor may be out of the window. */
const cursorRange = (current: number) => ({ first: Math.max(0, current), end: current + 1 });

/** How people know the runs: by what was evaluated, where two are alike by the name of the evaluation, too. */
function namesOf(comparison: EvalResultsCompareRes | undefined, ids: readonly string[]): string[] {
  const known = new Map((comparison?.runs ?? []).map((run) => [run.evaluation_call_id, run]));
  return ids.map((id) => {
    const run = known.get(id);
    if (run === undefined) return id.slice(0, 8);
    const model = shortRef(run.model_ref ?? "");
    return run.display_name ?? (model === "" ? shortRef(run.evaluation_ref ?? id) : model);
  });
}

/** What the service says of a run by its id, by its letter. */
const inLetters = (text: string, runs: readonly string[]): string =>
  runs.reduce((said, id, index) => said.replaceAll(`the run ${id}`, `run ${letterOf(index)}`), text);
