import type { Checkpoint } from "@heddle/client/training";
import { linkToProject } from "../project/project-link.js";
import { Link, useSearch } from "../router/routing.js";
import { Ago } from "../ui/ago.js";
import { CopyButton } from "../ui/copy-button.js";
import { callsAnswered } from "./calls-of.js";
import { formatNumber } from "./numbers.js";

interface Props {
  projectId: string;
  modelId: string;
  checkpoints: readonly Checkpoint[];
  /** Step that is looked at. */
  current: number | undefined;
}

const path = "/$entity/$project/training/$modelId";

/** The checkpoints of a model, newest first, and how far what is served agrees with what was trained. */
export function CheckpointsTable({ projectId, modelId, checkpoints, current }: Props) {
  const search = useSearch({ from: path });
  return (
    <div className="training-scroll" tabIndex={0} role="group" aria-label="Table of checkpoints">
      <table className="training-table">
        <thead>
          <tr>
            <th>step</th>
            <th>parity of what is served and what was trained</th>
            <th className="figure">val/reward</th>
            <th className="figure">train/reward</th>
            <th className="figure">made</th>
            <th>model of chat completions</th>
            <th>answered</th>
          </tr>
        </thead>
        <tbody>
          {checkpoints.map((checkpoint) => (
            <tr key={checkpoint.id} aria-current={checkpoint.step === current ? "step" : undefined}>
              <td>
                {checkpoint.job_id === null ? (
                  checkpoint.step
                ) : (
                  <Link
                    to={path}
                    params={{ ...linkToProject(projectId).params, modelId }}
                    search={{ ...search, job: checkpoint.job_id, rollout: undefined }}
                  >
                    {checkpoint.step}
                  </Link>
                )}
              </td>
              <td>
                <Parity checkpoint={checkpoint} />
              </td>
              <Metric value={checkpoint.metrics["val/reward"]} />
              <Metric value={checkpoint.metrics["train/reward"]} />
              <td className="figure">
                <Ago time={checkpoint.created_at} />
              </td>
              <td>
                <span className="mono given">{checkpoint.inference_name}</span>{" "}
                <CopyButton text={() => checkpoint.inference_name} />
              </td>
              <td>
                <Link {...callsAnswered(projectId, modelId, checkpoint.step)}>its calls</Link>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Metric({ value }: { value: number | undefined }) {
  return (
    <td className="figure" title={value === undefined ? undefined : String(value)}>
      {value !== undefined && formatNumber(value)}
    </td>
  );
}

function Parity({ checkpoint: { parity, untrained } }: { checkpoint: Checkpoint }) {
  if (parity === null) return <span className="quiet">{untrained ? "the base model, unchanged" : "not compared"}</span>;
  const { max_difference, tolerance, tokens, checked_at } = parity;
  return (
    <span title={`compared over ${tokens} tokens at ${checked_at}`}>
      <span className="is-success">✓</span> {formatNumber(max_difference)} ≤ {formatNumber(tolerance)} nats
    </span>
  );
}
