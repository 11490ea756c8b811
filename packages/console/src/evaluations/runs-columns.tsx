import type { Column } from "../grid/virtual-grid.js";
import { Ago } from "../ui/ago.js";
import { formatCost, formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { shortRef } from "./run-names.js";
import { meanOf, missingOf, scoreName, scoreText } from "./score-text.js";
import type { Run } from "./use-runs.js";

/** Columns of the list of runs. */
export function runsColumns(
  chosen: readonly string[],
  onChoose: (id: string) => void,
  isNarrow: boolean,
): Column<Run>[] {
  const figure = (id: string, title: string, width: number, cell: Column<Run>["cell"]): Column<Run> => ({
    id,
    title,
    width,
    align: "end",
    cell,
  });
  return [
    {
      id: "evaluation",
      title: "evaluation",
      width: isNarrow ? 150 : 220,
      cell: (run) => {
        const name = run.results?.display_name ?? shortRef(run.evaluation);
        return (
          <label title={run.evaluation}>
            <input
              type="checkbox"
              className="run-mark"
              tabIndex={-1}
              aria-label={`Choose the run ${visibleLine(name)}`}
              checked={chosen.includes(run.evaluation_run_id)}
              onChange={() => onChoose(run.evaluation_run_id)}
            />{" "}
            <span className="given">{name === "" ? "no name" : visibleLine(name)}</span>
            {chosen[0] === run.evaluation_run_id && <span className="quiet"> base</span>}
          </label>
        );
      },
    },
    {
      id: "model",
      title: "model",
      width: isNarrow ? 110 : 180,
      cell: ({ model }) => (
        <span className="given" title={model}>
          {visibleLine(shortRef(model))}
        </span>
      ),
    },
    { id: "status", title: "status", width: 120, cell: (run) => <RunStatus run={run} /> },
    { id: "scores", title: "mean scores", width: 260, grows: true, cell: (run) => <Scores run={run} /> },
    figure("trials", "predictions", 92, ({ results }) => results?.trial_count && formatCount(results.trial_count)),
    figure("tokens", "tokens", 80, ({ results }) =>
      typeof results?.predict_total_tokens === "number" ? formatCount(results.predict_total_tokens) : undefined,
    ),
    figure("cost", "cost", 80, ({ results }) =>
      typeof results?.predict_total_cost === "number" ? (
        <span title={String(results.predict_total_cost)}>{formatCost(results.predict_total_cost)}</span>
      ) : undefined,
    ),
    figure("started", "began", 96, ({ started_at: at }) => typeof at === "string" && <Ago time={at} />),
  ];
}

function RunStatus({ run }: { run: Run }) {
  if (run.progress !== undefined && run.status === "running") {
    const { done, of } = run.progress;
    return (
      <span className="is-running" title={`${formatCount(done)} of ${formatCount(of)} predictions are scored`}>
        ● {formatCount(done)} of {formatCount(of)}
      </span>
    );
  }
  if (run.status === "running") return <span className="is-running">● running</span>;
  if (run.status === "failed") return <span className="is-error">✗ failed</span>;
  return run.status === "completed" ? <span className="is-success">✓ completed</span> : undefined;
}

/** Each mean, and how many trials have none: they do not count as 0. */
function Scores({ run: { results } }: { run: Run }) {
  if (results === undefined) return undefined;
  const stats = (results.scorer_stats ?? []).flatMap((of) => {
    const mean = meanOf(of);
    return mean === undefined ? [] : [{ name: scoreName(of), mean, missing: missingOf(of) }];
  });
  if (stats.length === 0)
    return <span className="quiet">{results.trial_count === 0 ? "no results" : "no scores"}</span>;
  return stats.map(({ name, mean, missing }) => (
    <span key={name} className="mean-score" title={`${visibleLine(name)}: ${mean}`}>
      <span className="quiet given">{visibleLine(name)}</span> {scoreText(mean)}
      {missing > 0 && <span className="is-error"> {formatCount(missing)} without</span>}
    </span>
  ));
}
