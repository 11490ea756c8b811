import type { ArtifactVersion, Caller } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { mayRead } from "../access/authorize.js";
import { splitProject } from "../access/project-id.js";
import type { ArtifactStores } from "./artifact-stores.js";

/** What an artifact URI names. */
export interface ArtifactUri {
  /** `entity/project` */
  project_id: string;
  name: string;
  /** `v<index>`, an alias or a digest; absent for the newest version. */
  selector?: string;
}

/**
 * Reads `<scheme>:///<entity>/<project>/<name>`, optionally with `:<version>`. The scheme is any that ends in
 * `artifact`, and two slashes after it are read like three. Undefined for other text.
 */
export function parseArtifactUri(uri: string): ArtifactUri | undefined {
  const rest = /^[a-z0-9+.-]*artifact:\/\/\/?(.*)$/is.exec(uri)?.[1];
  const [entity, project, last, more] = rest?.split("/") ?? [];
  if (entity === undefined || project === undefined || last === undefined || more !== undefined) return undefined;
  const projectId = `${entity}/${project}`;
  const colon = last.indexOf(":");
  const [name, selector] = colon === -1 ? [last, undefined] : [last.slice(0, colon), last.slice(colon + 1)];
  if (splitProject(projectId) === undefined || name === "" || selector === "") return undefined;
  return { project_id: projectId, name, ...(selector !== undefined && { selector }) };
}

/** The URI of an artifact in the scheme of this service. */
export function artifactUri({ project_id, name, selector }: ArtifactUri): string {
  return `heddle-artifact:///${project_id}/${name}${selector === undefined ? "" : `:${selector}`}`;
}

/**
 * The version that a URI names. Throws `unprocessable` for text that is not an artifact URI, and `not_found` when there is no
 * such version, or the caller may not read its project.
 */
export async function resolveArtifact(
  { control }: Pick<ArtifactStores, "control">,
  caller: Caller,
  uri: string,
): Promise<ArtifactVersion> {
  const parsed = parseArtifactUri(uri);
  if (parsed === undefined) {
    const form = "heddle-artifact:///<entity>/<project>/<name>:<version>";
    throw new HeddleError("unprocessable", `must have the form ${form}`, { loc: [] });
  }
  const { project_id, name, selector } = parsed;
  const version = mayRead(caller, project_id) ? await control.artifacts.get(project_id, name, selector) : undefined;
  if (version === undefined) throw new HeddleError("not_found", `no artifact ${artifactUri(parsed)}`, { loc: [] });
  return version;
}
