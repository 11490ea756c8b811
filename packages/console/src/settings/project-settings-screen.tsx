import { Link, useNavigate, useParams } from "../router/routing.js";
import { useCommands } from "../commands/use-commands.js";
import { MembersView } from "./members-view.js";
import { RetentionView } from "./retention-view.js";
import { settingsCommands } from "./settings-commands.js";
import {
  linkToProjectPart,
  linkToServicePart,
  projectPartOf,
  projectParts,
  projectSettingsRoute,
  serviceParts,
  titleOf,
} from "./settings-parts.js";
import { UsageView } from "./usage.js";
import "./settings.css";

const views = { usage: UsageView, members: MembersView, retention: RetentionView };

/** What a project uses and costs, who reaches it, how long it keeps calls. */
export function ProjectSettingsScreen() {
  const { entity, project, part: given } = useParams({ from: projectSettingsRoute });
  const projectId = `${entity}/${project}`;
  const part = projectPartOf(given);
  const navigate = useNavigate();
  const to = (step: number) => {
    const next = projectParts[projectParts.indexOf(part) + step];
    return next && (() => void navigate(linkToProjectPart(projectId, next)));
  };
  useCommands({ scope: "Settings" }, settingsCommands, { next: to(1), previous: to(-1) });
  const View = views[part];
  return (
    <main className="settings">
      <nav className="tabs" aria-label="Settings">
        {projectParts.map((each) => (
          <Link key={each} {...linkToProjectPart(projectId, each)} aria-current={each === part ? "page" : undefined}>
            {titleOf[each]}
          </Link>
        ))}
        {serviceParts.map((each) => (
          <Link key={each} {...linkToServicePart(each)}>
            {titleOf[each]}
          </Link>
        ))}
      </nav>
      <h1>{titleOf[part]}</h1>
      <View key={projectId} projectId={projectId} />
    </main>
  );
}
