/** Names of a project, as the address of its pages has them. */
interface ProjectParams {
  entity: string;
  project: string;
}

/** `acme/demo` → where its page is. */
export function linkToProject(projectId: string) {
  const slash = projectId.indexOf("/");
  const params: ProjectParams = { entity: projectId.slice(0, slash), project: projectId.slice(slash + 1) };
  return { to: "/$entity/$project/calls", params } as const;
}
