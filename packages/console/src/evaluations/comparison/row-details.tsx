import type { EvalComparedRow, EvalComparedScore } from "@heddle/client/tracing";
import { Link } from "../../router/routing.js";
import { jsonType } from "@heddle/exact-json";
import { jsonLines } from "../../diff/json-lines.js";
import { Changes } from "../../diff/changes.js";
import { JsonView } from "../../json/json-view.js";
import { asText, membersOf } from "../../json/members.js";
import { linkToProject } from "../../project/project-link.js";
import { counted, formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { letterOf } from "./difference-text.js";
import { Outcome } from "./row-columns.js";
import { expectedOf } from "./row-contents.js";
import type { RowContent, Trial } from "./row-contents.js";

interface Props {
  projectId: string;
  row: EvalComparedRow;
  content: RowContent | undefined;
  runs: readonly string[];
  names: readonly string[];
  run: number;
  score: EvalComparedScore | undefined;
  isLowerBetter: boolean;
  /** Whether outputs are compared with that of the base run, and not with what is expected. */
  isToBase: boolean;
  place: string;
  onRun: (run: number) => void;
  onDiff: () => void;
  onClose: () => void;
}

/** Trials of one row that are shown; there are rarely more than a few. */
const mostTrials = 10;

/** A row in one run: what was expected and what came, and what each scorer said. */
export function RowDetails(props: Props) {
  const { row, content, runs, names, run, score, isLowerBetter, place, onRun, onClose } = props;
  const trials = content?.trials.get(runs[run] ?? "") ?? [];
  return (
    <section className="row-details" aria-label="Row">
      <header>
        <h2 className="quiet">{place}</h2>
        <button className="plain" onClick={onClose}>
          Close <kbd>Escape</kbd>
        </button>
      </header>
      <div className="row-runs" role="group" aria-label="Run">
        {runs.map((id, index) => (
          <button key={id} aria-pressed={index === run} title={names[index]} onClick={() => onRun(index)}>
            {letterOf(index)} <Outcome row={row} run={index} score={score} isLowerBetter={isLowerBetter} />
          </button>
        ))}
        <span className="quiet">
          <kbd>h</kbd> <kbd>l</kbd>
        </span>
      </div>
      {content === undefined ? (
        <Waiting what="Loading the row" />
      ) : (
        <>
          {trials.length === 0 && <p className="quiet">{letterOf(run)} does not have this row.</p>}
          {trials.slice(0, mostTrials).map((trial, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- a trial is its place
            <TrialView key={index} {...props} content={content} trial={trial} index={index} count={trials.length} />
          ))}
          {trials.length > mostTrials && (
            <p className="quiet">
              {formatCount(mostTrials)} of {counted(trials.length, "trial")}.
            </p>
          )}
          <h3>row</h3>
          <JsonView label="row" text={content.input} />
          <p className="quiet mono given">{visibleLine(row.row_digest)}</p>
        </>
      )}
    </section>
  );
}

type TrialProps = Omit<Props, "content"> & { content: RowContent; trial: Trial; index: number; count: number };

function TrialView({ projectId, content, trial, index, count, runs, run, score, isToBase, onDiff }: TrialProps) {
  const expected = expectedOf(content.input);
  const ofBase = run === 0 ? undefined : content.trials.get(runs[0] ?? "")?.[0];
  const toBase = ofBase !== undefined && (isToBase || expected === undefined);
  const before = toBase ? ofBase.output : expected?.value;
  const others = expected !== undefined && ofBase !== undefined;
  return (
    <article aria-label={count > 1 ? `Trial ${index + 1} of ${count}` : "Output"}>
      {count > 1 && (
        <h3>
          Trial {index + 1} of {count}
        </h3>
      )}
      {before === undefined ? (
        <>
          <h3>output</h3>
          <JsonView label="output" text={trial.output} />
        </>
      ) : (
        <>
          <Changes
            title={
              toBase ? `output of A → output of ${letterOf(run)}` : `${expected?.name} → output of ${letterOf(run)}`
            }
            before={linesOf(before)}
            after={linesOf(trial.output)}
          />
          {others && index === 0 && (
            <button className="plain at-edge" onClick={onDiff}>
              {toBase ? "Compare with what is expected" : "Compare with the base run"} <kbd>d</kbd>
            </button>
          )}
        </>
      )}
      <Scores projectId={projectId} trial={trial} chosen={score?.scorer_key} />
      {trial.predictionId !== undefined && (
        <p>
          <CallLink projectId={projectId} callId={trial.predictionId}>
            The trace of the prediction
          </CallLink>{" "}
          {index === 0 && <kbd>t</kbd>}
        </p>
      )}
    </article>
  );
}

/** What each scorer said, the one by which rows are compared first. */
function Scores({ projectId, trial, chosen }: { projectId: string; trial: Trial; chosen: string | undefined }) {
  const scores = [...membersOf(trial.scores)].toSorted(([a], [b]) => Number(b === chosen) - Number(a === chosen));
  const isMissing = chosen !== undefined && !scores.some(([name]) => name === chosen);
  return (
    <>
      {isMissing && (
        <p>
          <span className="given">{visibleLine(chosen)}</span> gave no score.{" "}
          <ScorerLink projectId={projectId} trial={trial} scorer={chosen} isFirst />
        </p>
      )}
      {scores.map(([scorer, value], index) => (
        <div key={scorer} className="row-score">
          <h3>
            <span className="given">{visibleLine(scorer)}</span>{" "}
            <ScorerLink projectId={projectId} trial={trial} scorer={scorer} isFirst={index === 0 && !isMissing} />
          </h3>
          <JsonView label={`what ${visibleLine(scorer)} said`} text={value} />
        </div>
      ))}
    </>
  );
}

interface ScorerLinkProps {
  projectId: string;
  trial: Trial;
  scorer: string;
  isFirst: boolean;
}

function ScorerLink({ projectId, trial, scorer, isFirst }: ScorerLinkProps) {
  const callId = Object.hasOwn(trial.scorerIds, scorer) ? trial.scorerIds[scorer] : undefined;
  if (callId === undefined) return undefined;
  return (
    <>
      <CallLink projectId={projectId} callId={callId}>
        why
      </CallLink>{" "}
      {isFirst && <kbd>e</kbd>}
    </>
  );
}

function CallLink({ projectId, callId, children }: { projectId: string; callId: string; children: string }) {
  return (
    <Link to="/$entity/$project/calls/$callId" params={{ ...linkToProject(projectId).params, callId }} search={{}}>
      {children}
    </Link>
  );
}

/** A text by its lines, other JSON a member or item a line. */
const linesOf = (json: string): string[] =>
  jsonType(json) === "string" ? asText(json).split("\n") : jsonLines(json).lines;
