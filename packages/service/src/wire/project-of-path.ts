/** The project id of an operation whose path names the project. */
export function projectOfPath({ entity, project }: { entity: string; project: string }): string {
  return `${entity}/${project}`;
}
