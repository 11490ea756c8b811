import type { Model, TrainingJob } from "@heddle/client/training";
import { Link } from "../router/routing.js";
import { linkToProject } from "../project/project-link.js";
import { Ago } from "../ui/ago.js";
import { visibleLine } from "../ui/visible-text.js";
import { JobProgress, JobState } from "./job-state.js";

interface Props {
  projectId: string;
  models: readonly Model[];
  /** Newest first. */
  jobs: readonly TrainingJob[] | undefined;
}

/** The models of a project, each with its newest job. */
export function ModelsTable({ projectId, models, jobs }: Props) {
  const newest = new Map(jobs?.toReversed().map((job) => [job.model_id, job]));
  return (
    <div className="training-scroll" tabIndex={0} role="group" aria-label="Table of models">
      <table className="training-table">
        <thead>
          <tr>
            <th>model</th>
            <th>on</th>
            <th className="figure">created</th>
            <th>newest job</th>
          </tr>
        </thead>
        <tbody>
          {models.toReversed().map((model) => {
            const job = newest.get(model.id);
            return (
              <tr key={model.id}>
                <td>
                  <Link
                    to="/$entity/$project/training/$modelId"
                    params={{ ...linkToProject(projectId).params, modelId: model.id }}
                    className="given"
                  >
                    {visibleLine(model.name)}
                  </Link>
                </td>
                <td className="mono given">{visibleLine(model.base_model)}</td>
                <td className="figure">
                  <Ago time={model.created_at} />
                </td>
                <td>
                  {job !== undefined && (
                    <>
                      <JobState job={job} /> <JobProgress job={job} />
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
