import { useParams } from "../router/routing.js";
import { kindOf } from "./kinds.js";
import { libraryRoute } from "./library-link.js";
import { NamesList } from "./names-list.js";
import { VersionView } from "./version-view.js";
import "./library.css";

/** What a project has published: its names, and of one a version. */
export function LibraryScreen() {
  const { entity, project, kind: given, name, version } = useParams({ from: libraryRoute });
  const projectId = `${entity}/${project}`;
  const kind = kindOf(given);
  return (
    <main className="library">
      {name === undefined ? (
        <NamesList key={kind} projectId={projectId} kind={kind} />
      ) : (
        <VersionView key={name} projectId={projectId} kind={kind} name={name} version={version ?? "latest"} />
      )}
    </main>
  );
}
