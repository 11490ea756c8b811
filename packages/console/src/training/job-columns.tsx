import type { TrainingJob } from "@heddle/client/training";
import { Link } from "../router/routing.js";
import type { Column } from "../grid/virtual-grid.js";
import { linkToProject } from "../project/project-link.js";
import { Ago } from "../ui/ago.js";
import { visibleLine } from "../ui/visible-text.js";
import { kindNames } from "./job-kind.js";
import { JobDuration, JobProgress, JobState } from "./job-state.js";

/** Of a list of jobs; narrow windows have the first ones. */
export function jobColumns(
  projectId: string,
  nameOf: (modelId: string) => string,
  isNarrow: boolean,
): Column<TrainingJob>[] {
  const figure = (id: string, title: string, width: number, cell: Column<TrainingJob>["cell"]) =>
    ({ id, title, width, align: "end", cell }) as const;
  const columns: Column<TrainingJob>[] = [
    {
      id: "model",
      title: "model",
      width: isNarrow ? 130 : 200,
      cell: ({ id, model_id }) => (
        <Link
          to="/$entity/$project/training/$modelId"
          params={{ ...linkToProject(projectId).params, modelId: model_id }}
          search={{ job: id }}
          className="given"
          tabIndex={-1}
        >
          {visibleLine(nameOf(model_id))}
        </Link>
      ),
    },
    { id: "kind", title: "kind", width: 92, cell: ({ kind }) => kindNames[kind] },
    { id: "state", title: "state", width: 140, cell: (job) => <JobState job={job} /> },
    figure("progress", "steps done", isNarrow ? 80 : 110, (job) => <JobProgress job={job} />),
  ];
  if (isNarrow) return columns;
  return [
    ...columns,
    figure("step", "makes step", 88, ({ step }) => step),
    figure("created", "created", 96, ({ created_at }) => <Ago time={created_at} />),
    figure("took", "took", 88, (job) => <JobDuration job={job} />),
    {
      id: "why",
      title: "why it ended, and warnings",
      width: 240,
      grows: true,
      cell: ({ error_message, warnings }) => {
        const said = [...(error_message === null ? [] : [error_message]), ...warnings].join(" · ");
        return (
          <span className={error_message === null ? "quiet given" : "is-error given"} title={said}>
            {visibleLine(said.slice(0, 300))}
          </span>
        );
      },
    },
  ];
}
