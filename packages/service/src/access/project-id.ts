import { isPathName } from "@heddle/control-plane";

/** What is wrong with text that {@link splitProject} cannot split. */
export const projectIdRule =
  'must have the form "entity/project": two names of 1 to 256 characters, none of them a control character, and not . or ..';

/** The two names of `entity/project`; undefined for text that the control plane could not keep. */
export function splitProject(projectId: string): { entity: string; project: string } | undefined {
  const slash = projectId.indexOf("/");
  const [entity, project] = [projectId.slice(0, Math.max(slash, 0)), projectId.slice(slash + 1)];
  return isPathName(entity) && isPathName(project) ? { entity, project } : undefined;
}
