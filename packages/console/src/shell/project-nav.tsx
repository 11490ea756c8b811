import { Link } from "@tanstack/react-router";
import { linkToProject, linkToScreen, screens } from "../project/project-link.js";

/** The screens of a project. */
export function ProjectNav({ projectId }: { projectId: string }) {
  return (
    <>
      <Link {...linkToProject(projectId)} className="given cut" title={projectId} activeProps={{}}>
        {projectId}
      </Link>
      {screens.map(({ id, title }) => (
        <Link key={id} {...linkToScreen(projectId, id)} className="top-screen" activeProps={{ className: "is-shown" }}>
          {title}
        </Link>
      ))}
    </>
  );
}
