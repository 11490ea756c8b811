import { linkToProject } from "../project/project-link.js";

/** Parts of the settings that are of one project. */
export const projectParts = ["usage", "members", "retention"] as const;
export type ProjectPart = (typeof projectParts)[number];

/** Parts that are of the whole service, as far as a key reaches. */
export const serviceParts = ["keys", "system"] as const;
export type ServicePart = (typeof serviceParts)[number];

export const titleOf: Record<ProjectPart | ServicePart, string> = {
  usage: "Usage and costs",
  members: "Members",
  retention: "Retention",
  keys: "Keys",
  system: "System check",
};

export const projectSettingsRoute = "/$entity/$project/settings/{-$part}";
export const serviceSettingsRoute = "/settings/{-$part}";

/** The part that an address names; the first where it names none that there is. */
export const projectPartOf = (given: string | undefined): ProjectPart =>
  projectParts.find((part) => part === given) ?? "usage";
export const servicePartOf = (given: string | undefined): ServicePart =>
  serviceParts.find((part) => part === given) ?? "keys";

export const linkToProjectPart = (projectId: string, part: ProjectPart) =>
  ({ to: projectSettingsRoute, params: { ...linkToProject(projectId).params, part } }) as const;
export const linkToServicePart = (part: ServicePart) => ({ to: serviceSettingsRoute, params: { part } }) as const;
