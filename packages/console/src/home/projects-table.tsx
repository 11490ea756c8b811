import type { ProjectSummary } from "@heddle/client/tracing";
import { Link, useNavigate, useSearch } from "../router/routing.js";
import { useRef } from "react";
import { useCommands } from "../commands/use-commands.js";
import { linkToProject } from "../project/project-link.js";
import { Ago } from "../ui/ago.js";
import { counted, formatCost, formatCount } from "../ui/format.js";
import { homeCommands } from "./home-commands.js";
import { useLastDay } from "./use-last-day.js";
import type { LastDay } from "./use-last-day.js";
import "./projects-table.css";

/** The projects, the row under the cursor on the thread. */
export function ProjectsTable({ projects }: { projects: readonly ProjectSummary[] }) {
  // The cursor is at a name: the order changes while calls arrive.
  const { q: filter = "", at: cursor } = useSearch({ from: "/" });
  const field = useRef<HTMLInputElement>(null);
  const navigate = useNavigate({ from: "/" });
  const lastDay = useLastDay(projects);
  const setFilter = (text: string) => void navigate({ search: text === "" ? {} : { q: text }, replace: true });
  const setCursor = (at: string | undefined) => void navigate({ search: (given) => ({ ...given, at }), replace: true });
  const matching = projects.filter(({ project_id }) => project_id.toLowerCase().includes(filter.toLowerCase()));
  const found = matching.findIndex(({ project_id }) => project_id === cursor);
  const at = found < 0 ? 0 : found;
  const move = (step: number) => () =>
    setCursor(matching[Math.max(0, Math.min(matching.length - 1, at + step))]?.project_id);
  const current = matching[at];
  const open = current && (() => void navigate(linkToProject(current.project_id)));
  useCommands({ scope: "Projects" }, homeCommands, {
    next: move(1),
    previous: move(-1),
    open,
    filter: () => field.current?.focus(),
  });
  return (
    <>
      <header className="home-head">
        <h1>Projects</h1>
        <input
          ref={field}
          type="search"
          aria-label="Filter projects"
          placeholder="Filter   /"
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              setFilter("");
              event.currentTarget.blur();
            } else if (event.key === "Enter") open?.();
          }}
        />
        <span className="quiet" role="status">
          {filter === ""
            ? counted(projects.length, "project")
            : `${formatCount(matching.length)} of ${formatCount(projects.length)}`}
        </span>
      </header>
      {matching.length === 0 ? (
        <p className="prose">
          No project has <span className="mono given">{filter}</span> in its name.{" "}
          <button className="plain" onClick={() => setFilter("")}>
            Show all
          </button>
        </p>
      ) : (
        <table className="projects">
          <thead>
            <tr>
              <th scope="col">project</th>
              <th scope="col" className="figure">
                calls
              </th>
              <th scope="col" className="figure wide">
                running
              </th>
              <th scope="col" className="figure" title="Calls of the last 24 hours that failed">
                failed, 24 h
              </th>
              <th scope="col" className="figure wide" title="Cost of the calls of the last 24 hours">
                cost, 24 h
              </th>
              <th scope="col" className="figure">
                last call
              </th>
              <th scope="col" className="figure wide">
                created
              </th>
            </tr>
          </thead>
          <tbody>
            {matching.map((project, index) => (
              <ProjectRow
                key={project.project_id}
                project={project}
                lastDay={lastDay.get(project.project_id)}
                isCurrent={index === at}
              />
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** Of a row that gets the cursor. */
const keepInView = (row: HTMLElement | null) => row?.scrollIntoView({ block: "nearest" });

function ProjectRow({
  project: { project_id, call_count, running, last_started_at, created_at },
  lastDay,
  isCurrent,
}: {
  project: ProjectSummary;
  lastDay: LastDay | undefined;
  isCurrent: boolean;
}) {
  return (
    <tr ref={isCurrent ? keepInView : undefined} className={isCurrent ? "is-current" : undefined}>
      <th scope="row">
        <Link {...linkToProject(project_id)} className="given cut" title={project_id}>
          {project_id}
        </Link>
      </th>
      <td className="figure">{formatCount(call_count)}</td>
      <td className="figure wide">{running > 0 && <span className="is-running">● {formatCount(running)}</span>}</td>
      <td className="figure">
        {lastDay !== undefined && lastDay.errors > 0 && (
          <Link {...linkToProject(project_id)} search={{ status: "error", since: "24h" }} className="is-error">
            ✗ {formatCount(lastDay.errors)}
            {lastDay.since !== undefined && "+"}
          </Link>
        )}
      </td>
      <td className="figure wide">
        {lastDay?.cost !== undefined && <span title={String(lastDay.cost)}>{formatCost(lastDay.cost)}</span>}
      </td>
      <td className="figure quiet">{last_started_at === undefined ? "none" : <Ago time={last_started_at} />}</td>
      <td className="figure quiet wide">
        <Ago time={created_at} />
      </td>
    </tr>
  );
}
