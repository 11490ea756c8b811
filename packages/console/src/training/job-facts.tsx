import type { TrainingJob } from "@heddle/client/training";
import { Link } from "../router/routing.js";
import { Ago } from "../ui/ago.js";
import { counted } from "../ui/format.js";
import { visibleText } from "../ui/visible-text.js";
import { callsOfJob } from "./calls-of.js";
import { kindNames } from "./job-kind.js";
import { JobDuration, JobProgress, JobState } from "./job-state.js";

/** How a job goes, or went, and why it failed. */
export function JobFacts({ projectId, job }: { projectId: string; job: TrainingJob }) {
  const { completed, total } = job.progress;
  return (
    <>
      <p className="job-line">
        <span>{kindNames[job.kind]} job</span>
        <JobState job={job} />
        <span>
          <JobProgress job={job} /> {(completed > 0 || total !== null) && "gradient steps"}
        </span>
        {job.status === "RUNNING" && total !== null && total > 0 && (
          <progress max={total} value={completed} aria-label="Gradient steps that are done" />
        )}
        <JobDuration job={job} />
        <span className="quiet">
          created <Ago time={job.created_at} />
        </span>
        {job.call_ids !== null && (
          <span className="prose">
            made of <Link {...callsOfJob(projectId, job.id)}>{counted(job.call_ids.length, "call")}</Link>
          </span>
        )}
      </p>
      {job.error_message !== null && (
        <p className="prose job-said" role="alert">
          <strong className={job.status === "FAILED" ? "is-error" : undefined}>
            {job.status === "FAILED" ? "✗ It failed" : "It was cancelled"}
            {job.error_type !== null && job.error_type !== "cancelled" && ` (${job.error_type})`}.
          </strong>{" "}
          <span className="given">{visibleText(job.error_message)}</span>
        </p>
      )}
      {job.warnings.length > 0 && (
        <ul className="job-said prose">
          {job.warnings.map((warning) => (
            <li key={warning} className="given">
              {visibleText(warning)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
