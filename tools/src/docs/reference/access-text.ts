import type { Access } from "../../model/access.js";
import type { Operation } from "../../model/model.js";
import { codeSpan } from "../page/markdown-text.js";

/** What a key needs for an operation, in one sentence. */
export function accessText({ access }: Operation): string {
  if (access === undefined) return "No key is needed.";
  return `A key with the right ${codeSpan(access.right)}${projectText(access.project)}.`;
}

function projectText(project: Access["project"]): string {
  if (project === "none") return "; the operation belongs to no project";
  if (project === "record") return " in the project of the record";
  if (project === "items") return " in the project that each item names; items without it fail on their own";
  if (project === "several") return " in the projects that the references name; what belongs to others is left out";
  const name = codeSpan(project.at.join(project.in === "body" ? "." : "/"));
  const where = { body: "the body", query: "the query", header: "the headers", path: "the path" }[project.in];
  const entity = project.entity === undefined ? "" : `, with the entity in ${codeSpan(project.entity)}`;
  return ` in the project that ${name} of ${where} names${entity}`;
}
