import { linkToProject } from "../project/project-link.js";
import type { Kind } from "./kinds.js";

export const libraryRoute = "/$entity/$project/library/{-$kind}/{-$name}/{-$version}";

/** Where a kind, a name or a version of the library is. */
export const linkToLibrary = (projectId: string, kind: Kind, name?: string, version?: string) =>
  ({ to: libraryRoute, params: { ...linkToProject(projectId).params, kind, name, version } }) as const;
