import { Link } from "../router/routing.js";
import { linkToScreen, screens } from "../project/project-link.js";

/** The screens of a project. */
export function ProjectNav({ projectId }: { projectId: string }) {
  return (
    <nav className="top-screens" aria-label="Screens of the project">
      {screens.map(({ id, title }) => (
        <Link key={id} {...linkToScreen(projectId, id)} isOfScreens>
          {title}
        </Link>
      ))}
    </nav>
  );
}
