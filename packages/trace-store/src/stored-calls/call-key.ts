/** A call is identified by project and id, never by id alone: two projects may share OTLP span ids. */
export interface CallKey {
  project_id: string;
  id: string;
}

/** The pair as one text, for maps. Its length keeps a project name from running into the id. */
export function keyText({ project_id, id }: CallKey): string {
  return `${project_id.length}:${project_id}:${id}`;
}
