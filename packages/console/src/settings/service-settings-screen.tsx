import { Link, useNavigate, useParams } from "../router/routing.js";
import { useCommands } from "../commands/use-commands.js";
import { KeysView } from "./keys-view.js";
import { settingsCommands } from "./settings-commands.js";
import { linkToServicePart, servicePartOf, serviceParts, serviceSettingsRoute, titleOf } from "./settings-parts.js";
import { SystemView } from "./system-view.js";
import "./settings.css";

const views = { keys: KeysView, system: SystemView };

/** Keys, and whether the service works. */
export function ServiceSettingsScreen() {
  const part = servicePartOf(useParams({ from: serviceSettingsRoute }).part);
  const navigate = useNavigate();
  const to = (step: number) => {
    const next = serviceParts[serviceParts.indexOf(part) + step];
    return next && (() => void navigate(linkToServicePart(next)));
  };
  useCommands({ scope: "Settings" }, settingsCommands, { next: to(1), previous: to(-1) });
  const View = views[part];
  return (
    <main className="settings">
      <nav className="tabs" aria-label="Settings">
        {serviceParts.map((each) => (
          <Link key={each} {...linkToServicePart(each)} aria-current={each === part ? "page" : undefined}>
            {titleOf[each]}
          </Link>
        ))}
      </nav>
      <h1>{titleOf[part]}</h1>
      <View />
    </main>
  );
}
