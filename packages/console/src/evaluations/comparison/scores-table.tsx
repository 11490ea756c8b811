import type { EvalComparedScore, EvalComparedScoreRun, EvalResultsCompareRes } from "@heddle/client/tracing";
import { counted, formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { scoreName, scoreText } from "../score-text.js";
import { halfText, isNoise, letterOf, signedText } from "./difference-text.js";
import { Distribution } from "./distribution.js";

interface Props {
  comparison: EvalResultsCompareRes;
  names: readonly string[];
  /** The score by which rows are compared. */
  chosen: string | undefined;
  isLowerBetter: boolean;
  onChoose: (field: string) => void;
}

/** What each score says of each run: mean, difference with its interval, rows that changed sides, distribution. */
export function ScoresTable({ comparison: { scores, runs }, names, chosen, isLowerBetter, onChoose }: Props) {
  return (
    <div className="scores" role="region" aria-label="Scores" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">score</th>
            {runs.map(({ evaluation_call_id: id, row_count, trial_count }, run) => (
              <th key={id} scope="col" title={id}>
                <span className="given">
                  {letterOf(run)} {visibleLine(names[run] ?? "")}
                </span>
                <span className="quiet">
                  {run === 0 && runs.length > 1 && " base ·"} {counted(row_count, "row")}
                  {trial_count !== row_count && `, ${counted(trial_count, "trial")}`}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {scores.map((score) => (
            <tr key={score.field} className={score.field === chosen ? "is-chosen" : undefined}>
              <th scope="row">
                <button
                  className="plain given"
                  aria-pressed={score.field === chosen}
                  title="Compare the rows by this score"
                  onClick={() => onChoose(score.field)}
                >
                  {visibleLine(scoreName(score))}
                </button>
                {score.field === chosen && isLowerBetter && <span className="quiet">smaller is better</span>}
              </th>
              {score.runs.map((run, index) => (
                <td key={runs[index]?.evaluation_call_id}>
                  <ScoreOfRun
                    score={score}
                    run={run}
                    name={letterOf(index)}
                    isLowerBetter={isLowerBetter && score.field === chosen}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RunProps {
  score: EvalComparedScore;
  run: EvalComparedScoreRun;
  name: string;
  isLowerBetter: boolean;
}

function ScoreOfRun({ score, run, name, isLowerBetter }: RunProps) {
  const { mean, value_type: type, missing, unstable, counts, difference } = run;
  if (mean === null)
    return <span className="quiet">{type === "text" ? "texts, no numbers" : missingWords(missing, "no numbers")}</span>;
  return (
    <div className="score-of-run">
      <Distribution name={`${visibleLine(scoreName(score))} in ${name}`} edges={score.edges} counts={counts} />
      <div>
        <p>
          <strong title={String(mean)}>{scoreText(mean)}</strong>{" "}
          {difference !== null && difference !== undefined && (
            <Delta difference={difference} isLowerBetter={isLowerBetter} />
          )}
        </p>
        <p className="quiet">
          {[
            ...(difference && type === "binary" && difference.failed + difference.passed > 0
              ? [`${formatCount(difference.failed)} fail anew, ${formatCount(difference.passed)} pass anew`]
              : []),
            ...(difference && type !== "binary"
              ? [`${formatCount(difference.higher)} higher, ${formatCount(difference.lower)} lower`]
              : []),
            ...(unstable > 0 ? [`${counted(unstable, "row")} with trials that disagree`] : []),
            ...(missing > 0 ? [missingWords(missing, "")] : []),
          ].join(" · ")}
        </p>
      </div>
    </div>
  );
}

const missingWords = (missing: number, none: string): string =>
  missing > 0 ? `${counted(missing, "row")} without a score` : none;

function Delta({
  difference,
  isLowerBetter,
}: {
  difference: NonNullable<EvalComparedScoreRun["difference"]>;
  isLowerBetter: boolean;
}) {
  const { difference: mean, low, high, rows } = difference;
  const isBetter = mean > 0 !== isLowerBetter;
  const noise = isNoise(difference);
  const interval = low === null || high === null ? "" : `, 95 % interval ${low} to ${high}`;
  return (
    <span title={`${mean}${interval}, over ${counted(rows, "row")} that both runs have`}>
      <span className={noise ? undefined : isBetter ? "is-success" : "is-error"}>
        {!noise && (isBetter ? "▲ " : "▼ ")}
        {signedText(mean)}
      </span>{" "}
      <span className="quiet">
        {halfText(difference)}
        {noise && (low === null ? " one row" : " within noise")}
      </span>
    </span>
  );
}
